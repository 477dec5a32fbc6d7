<#
Runs one plan in one world: dot-source agent, steps and stubs in a fresh scope, run, and "boot" again while the state asks for it.
Invoke-World -Vector @{ world; plan } -Base DIR -> @{ effects; state; report; world; sentinel }
#>
$NodePlan = (Resolve-Path "$PSScriptRoot/../../bootstrap/scripts").Path

function ConvertTo-RealTree($Node, [string]$Base, [bool]$IsPath) {
    if ($Node -is [hashtable]) {
        $map = @{}
        foreach ($key in @($Node.PSBase.Keys)) {
            $path = $key -in 'path', 'paths', 'patterns', 'erase', 'creates', 'logins' -or ($key -eq 'target' -and $Node['for'] -eq 'file')
            $map[$key] = ConvertTo-RealTree $Node[$key] $Base $path
        }
        return $map
    }
    if ($Node -is [array]) { return , [object[]]@(foreach ($item in $Node) { ConvertTo-RealTree $item $Base $IsPath }) }
    if ($IsPath -and $Node -is [string] -and $Node -match '^C:\\') { return $Base + '/C/' + $Node.Substring(3).Replace('\', '/') }
    $Node
}

function Initialize-World($Vector, [string]$Base) {
    $root = "$Base/C/ProgramData/capwin"
    $null = New-Item -ItemType Directory -Force -Path $root
    $world = $Vector['world']
    if (-not $world) { $world = @{} }
    $world['base'] = $Base
    foreach ($path in @(if ($world['files']) { $world['files'].Keys })) {
        $real = $Base + '/C/' + $path.Substring(3).Replace('\', '/')
        $null = New-Item -ItemType Directory -Force -Path (Split-Path $real)
        [IO.File]::WriteAllText($real, $world['files'][$path])
    }
    foreach ($path in @(if ($world['links']) { $world['links'].Keys })) {
        $real = ConvertTo-RealTree $path $Base $true
        $null = New-Item -ItemType Directory -Force -Path (Split-Path $real)
        $null = New-Item -ItemType SymbolicLink -Path $real -Target (ConvertTo-RealTree $world['links'][$path] $Base $true)
    }
    $access = @{}
    foreach ($path in @(if ($world['acl']) { $world['acl'].Keys })) { $access[(ConvertTo-RealTree $path $Base $true)] = $world['acl'][$path] }
    $world['acl'] = $access
    $plan = if ($Vector.ContainsKey('planText')) { $Vector['planText'] } else { ConvertTo-Json (ConvertTo-RealTree $Vector['plan'] $Base $false) -Depth 100 -Compress }
    [IO.File]::WriteAllText("$root/plan.json", $plan)
    $world
}

function Invoke-World {
    param($Vector, [string]$Base, [switch]$Again)
    $world = if ($Again) { $Vector['world'] } else { Initialize-World $Vector $Base }
    $root = "$Base/C/ProgramData/capwin"
    for ($boot = 0; $boot -lt 10; $boot++) {
        Invoke-WorldOnce $world $root "$Base/C/run/cluster-api/bootstrap-success.complete"
        $state = Get-Content -Raw "$root/state.json" | ConvertFrom-Json -AsHashtable
        if ($state.state -ne 'Rebooting') { break }
        $world.marker = 0
        foreach ($name in @($world.features.Keys)) { if ($world.features[$name] -eq 'InstallPending' -and -not $world['featureNeverDone']) { $world.features[$name] = 'Installed' } }
        $world.registry.Remove('HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending')
        $world.effects = @($world.effects) + 'boot'
    }
    for ($later = 0; $later -lt [int]$world['starts']; $later++) {
        Start-Later $world
        if ($world.effects -notcontains 'task.disable capwin-agent') { Invoke-WorldOnce $world $root "$Base/C/run/cluster-api/bootstrap-success.complete" }
        $state = Get-Content -Raw "$root/state.json" | ConvertFrom-Json -AsHashtable
    }
    $report = if (Test-Path "$root/report.json") { Get-Content -Raw "$root/report.json" | ConvertFrom-Json -AsHashtable } else { @{} }
    @{ effects = @($world.effects); state = $state; report = $report; world = $world; sentinel = (Test-Path "$Base/C/run/cluster-api/bootstrap-success.complete"); root = $root }
}

# The machine starts once more: what is volatile is gone, what is stale is back, and time has passed.
function Start-Later($World) {
    $World.marker = 0
    $World.clock += 100000
    $World.effects = @($World.effects) + 'boot'
    foreach ($item in @($World['stale'])) { if ($item) { $World.hns = @($World.hns) + $item } }
}

function Invoke-WorldOnce($World, [string]$Root, [string]$Sentinel) {
    . "$NodePlan/agent.ps1" -Root $Root -Sentinel $Sentinel -NoRun
    . "$NodePlan/steps.ps1"
    . "$PSScriptRoot/stubs.ps1"
    # The sentinel is an effect too.
    $null = Invoke-Agent
}
