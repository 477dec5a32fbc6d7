# Services: those of the world, with what the registry says of them; sc.exe.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

function Get-ServiceKey([string]$Name) { "HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\$Name" }

function Get-ServiceValue([string]$Name, [string]$Value) {
    $key = $World.registry[(Get-ServiceKey $Name)]
    if ($key) { $key[$Value] }
}

# Like ServiceController, which reads its status once, when it is asked for it. So often a pending state is seen before it is over.
function Get-Service {
    [CmdletBinding()] param([string]$Name)
    Enter-Stub 'Get-Service'
    if (-not $World.services.ContainsKey($Name)) {
        Write-StubError "Cannot find any service with service name '$Name'." 'NoServiceFoundForGivenName'
        return
    }
    $one = [pscustomobject]@{ Name = $Name; ServiceName = $Name; Seen = '' }
    $status = {
        if (-not $this.Seen) { $this.Seen = Read-StubStatus $this.Name }
        $this.Seen
    }
    $one | Add-Member -MemberType ScriptProperty -Name Status -Value $status
    $dependents = { , [object[]]@(Get-StubDependent $this.Name @()) }
    $one | Add-Member -MemberType ScriptProperty -Name DependentServices -Value $dependents -PassThru
}

function Read-StubStatus([string]$Name) {
    $service = $World.services[$Name]
    $seen = $service['state']
    if ([int]$service['settlesAfter'] -gt 0) {
        $service['settlesAfter']--
        if ($service['settlesAfter'] -eq 0) { $service['state'] = @{ StartPending = 'Running'; StopPending = 'Stopped' }[$seen] }
    }
    $seen
}

# All that depend on a service, also through others, in any state; what must stop first comes first.
function Get-StubDependent([string]$Name, [string[]]$Above) {
    $names = [string[]]@($World.services.Keys)
    [Array]::Sort($names, [StringComparer]::Ordinal)
    $seen = @()
    foreach ($other in $names) {
        if ($other -in $Above -or $Name -notin @(Get-ServiceValue $other 'DependOnService')) { continue }
        $below = @(Get-StubDependent $other (@($Above) + $Name))
        foreach ($one in $below + [pscustomobject]@{ ServiceName = $other; Status = $World.services[$other]['state'] }) {
            if ($one.ServiceName -notin $seen) { $seen += $one.ServiceName; $one }
        }
    }
}

# sc.exe ends with the error of Windows.
function Invoke-Sc([string[]]$Argv) {
    $name = $Argv[2]
    $have = $World.services[$name]
    switch ($Argv[1]) {
        'create' { if ($have) { return $(if ($have['doomed']) { 1072 } else { 1073 }) }; Set-StubService $name $Argv }
        'config' { if (-not $have) { return 1060 }; if ($have['doomed']) { return 1072 }; Set-StubService $name $Argv }
        'start' { Start-StubService $name }
        'stop' { Stop-StubService $name $have }
        default { if ($have) { 0 } else { 1060 } }
    }
}

# Sets what is given: create has defaults for the rest, config leaves it. A delayed start belongs to an automatic one alone.
function Set-StubService([string]$Name, [string[]]$Argv) {
    $key = Get-ServiceKey $Name
    if ($Argv[1] -eq 'create') { $World.services[$Name] = @{ state = 'Stopped' } }
    if (-not $World.registry.ContainsKey($key)) { $World.registry[$key] = @{} }
    $values = $World.registry[$key]
    if ($Argv[1] -eq 'create') { $values['Start'] = 3 }
    for ($at = 3; $at -lt $Argv.Count; $at += 2) {
        $value = $Argv[$at + 1]
        switch ($Argv[$at]) {
            'binPath=' { $values['ImagePath'] = $value }
            'obj=' { $values['ObjectName'] = $value }
            'depend=' { $values['DependOnService'] = [string[]]@($value -split '/' | Where-Object { $_ }) }
            'start=' {
                $values['Start'] = @{ 'auto' = 2; 'delayed-auto' = 2; 'demand' = 3; 'disabled' = 4 }[$value]
                if ($values['Start'] -eq 2) { $values['DelayedAutostart'] = [int]($value -eq 'delayed-auto') }
            }
            default { return 1639 }
        }
        if ($null -eq $values['Start']) { return 1639 }
    }
    if ($values['ImagePath']) { 0 } else { 1639 }
}

# What it depends on is started first. A broken one ends at once, which sc.exe does not wait for.
function Start-StubService([string]$Name) {
    $have = $World.services[$Name]
    if (-not $have) { return 1060 }
    if ($have['state'] -ne 'Stopped') { return 1056 }
    if ((Get-ServiceValue $Name 'Start') -eq 4) { return 1058 }
    foreach ($other in @(Get-ServiceValue $Name 'DependOnService')) {
        if (-not $other) { continue }
        if (-not $World.services.ContainsKey($other)) { return 1075 }
        if ((Start-StubService $other) -notin 0, 1056 -or $World.services[$other]['state'] -notin 'Running', 'StartPending') { return 1068 }
    }
    if (-not $have['broken']) { $have['state'] = 'Running' }
    0
}

function Stop-StubService([string]$Name, $Have) {
    if (-not $Have) { return 1060 }
    if ($Have['state'] -eq 'Stopped') { return 1062 }
    if ($Have['state'] -like '*Pending') { return 1061 }
    if (@(Get-StubDependent $Name @() | Where-Object { $_.Status -ne 'Stopped' }).Count) { return 1051 }
    if (-not $Have['stubborn']) { $Have['state'] = 'Stopped' }
    0
}
