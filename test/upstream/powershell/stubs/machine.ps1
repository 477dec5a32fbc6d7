# Time, what is done aside, and facts of the machine.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

# What is tried again within a second does not count.
function Start-Sleep {
    param([int]$Seconds, [int]$Milliseconds)
    if ($Milliseconds) { return }
    Enter-Stub 'Start-Sleep'
    $World.clock += $Seconds
    # What waits in the background for what this world never brings would wait for ever.
    if ($Agent.Boot -and $Agent.Boot.state -ne 'Running') {
        $World['behind'] = [int]$World['behind'] + $Seconds
        if ($World['behind'] -gt 3600) { throw 'the world has ended' }
    }
}

function Get-Elapsed { $Agent.StartElapsed + $World.clock - $World.started }

# What is aside runs here and now; one that hangs is left when its time is over.
function Invoke-Aside([string]$Function, $Step, [int]$Limit) {
    $begin = $World.clock
    try { $null = & $Function $Step }
    catch {
        if ($World.clock -lt 1000000) { throw }
        $World.clock = $begin + $Limit
        Exit-Step "Windows has not answered for $Limit s" 'StepHung'
    }
}

# Each class has its own properties and no others. Of the drives, one is a CD-ROM without a disk: it has no size.
function Get-CimInstance {
    [CmdletBinding()] param([string]$ClassName, [string]$Filter)
    Enter-Stub 'Get-CimInstance'
    $found = @{ osBuild = '20348'; memoryMiB = '8192'; cpus = '4'; diskFreeMiB = '50000'; smbios = 'SMBIOS-1' }
    foreach ($name in $World.facts.Keys) { $found[$name] = $World.facts[$name] }
    switch ($ClassName) {
        'Win32_ComputerSystem' {
            $memory = [uint64]$found.memoryMiB * 1MB
            [pscustomobject]@{ TotalPhysicalMemory = $memory; NumberOfLogicalProcessors = [uint32]$found.cpus }
        }
        'Win32_OperatingSystem' { [pscustomobject]@{ BuildNumber = [string]$found.osBuild } }
        'Win32_ComputerSystemProduct' { [pscustomobject]@{ UUID = [string]$found.smbios } }
        'Win32_LogicalDisk' { Get-StubDrive ([uint64]$found.diskFreeMiB * 1MB) $Filter }
        default { Write-StubError 'Invalid class ' 'HRESULT 0x80041010' 'MetadataError' }
    }
}

function Get-StubDrive([uint64]$Free, [string]$Filter) {
    $drives = [pscustomobject]@{ DeviceID = 'C:'; FreeSpace = $Free }, [pscustomobject]@{ DeviceID = 'D:'; FreeSpace = $null }
    if (-not $Filter) { return $drives }
    if ($Filter -notmatch "^DeviceID *= *'([A-Z]:)'$") { Write-StubError 'Invalid query ' 'HRESULT 0x80041017' 'InvalidArgument'; return }
    $drives | Where-Object { $_.DeviceID -eq $Matches[1] }
}
