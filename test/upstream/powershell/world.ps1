<#
Runs one plan in one world: dot-source agent, steps and stubs in a fresh scope, run, and "boot" again while the state asks for it.
Invoke-World -Vector @{ world; plan } -Base DIR -> @{ effects; state; report; world; sentinel; root }
CAPWIN_SCRIPTS names a folder with other scripts than the repository's.
#>
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
$NodePlan = if ($env:CAPWIN_SCRIPTS) { $env:CAPWIN_SCRIPTS } else { (Resolve-Path "$PSScriptRoot/../../../bootstrap/scripts").Path }
$RebootPending = 'HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending'

# The file as tables: keys of a plan may differ in case, and are kept so.
function Read-Table([string]$Path) {
    # ps51check: allow unknown-parameter because this runs on PowerShell 7, and the reader of the scripts is on trial
    Get-Content -Raw -LiteralPath $Path | ConvertFrom-Json -AsHashtable
}

# Windows does not tell small letters from capital ones.
function ConvertTo-AnyCase($Node) {
    if ($Node -is [Collections.IDictionary]) {
        $table = @{}
        foreach ($key in @($Node.PSBase.Keys)) { $table[$key] = ConvertTo-AnyCase $Node[$key] }
        return $table
    }
    if ($Node -is [array]) { return , [object[]]@(foreach ($item in $Node) { ConvertTo-AnyCase $item }) }
    $Node
}

function ConvertTo-BasePath([string]$Base, [string]$Path) {
    if ($Path -notmatch '^([A-Za-z]):\\') { return $Path }
    $Base + '/' + $Matches[1].ToUpperInvariant() + '/' + $Path.Substring(3).Replace('\', '/')
}

# A copy of a plan's tree in which paths lead below the base.
function ConvertTo-RealTree($Node, [string]$Base, [bool]$IsPath) {
    if ($Node -is [Collections.IDictionary]) {
        $map = [ordered]@{}
        foreach ($key in @($Node.PSBase.Keys)) {
            $path = $key -in 'path', 'paths', 'patterns', 'erase', 'creates', 'logins' -or ($key -eq 'target' -and $Node['for'] -eq 'file')
            $map[$key] = ConvertTo-RealTree $Node[$key] $Base $path
        }
        return $map
    }
    if ($Node -is [array]) { return , [object[]]@(foreach ($item in $Node) { ConvertTo-RealTree $item $Base $IsPath }) }
    if ($IsPath -and $Node -is [string]) { return ConvertTo-BasePath $Base $Node }
    $Node
}

function Initialize-World($Vector, [string]$Base) {
    $root = "$Base/C/ProgramData/capwin"
    $null = [IO.Directory]::CreateDirectory($root)
    $world = if ($Vector['world']) { ConvertTo-AnyCase $Vector['world'] } else { @{} }
    $world['base'] = $Base
    foreach ($path in @(if ($world['files']) { $world['files'].Keys })) {
        $real = ConvertTo-BasePath $Base $path
        $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($real))
        [IO.File]::WriteAllText($real, $world['files'][$path])
    }
    foreach ($path in @(if ($world['links']) { $world['links'].Keys })) {
        $real = ConvertTo-BasePath $Base $path
        $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($real))
        $null = New-Item -ItemType SymbolicLink -Path $real -Target (ConvertTo-BasePath $Base $world['links'][$path])
    }
    $access = @{}
    foreach ($path in @(if ($world['acl']) { $world['acl'].Keys })) { $access[(ConvertTo-BasePath $Base $path)] = $world['acl'][$path] }
    $world['acl'] = $access
    [IO.File]::WriteAllText("$root/plan.json", (ConvertTo-PlanText $Vector $Base))
    $world
}

function ConvertTo-PlanText($Vector, [string]$Base) {
    if ($Vector.ContainsKey('planText')) { return $Vector['planText'] }
    ConvertTo-Json (ConvertTo-RealTree $Vector['plan'] $Base $false) -Depth 100 -Compress
}

function Invoke-World {
    param($Vector, [string]$Base, [switch]$Again)
    $world = if ($Again) { $Vector['world'] } else { Initialize-World $Vector $Base }
    $root = "$Base/C/ProgramData/capwin"
    $sentinel = "$Base/C/run/cluster-api/bootstrap-success.complete"
    for ($boot = 0; $boot -lt 30; $boot++) {
        Invoke-WorldOnce $world $root $sentinel
        $state = Read-Table "$root/state.json"
        if ($state['state'] -ne 'Rebooting') { break }
        Start-Boot $world
    }
    for ($later = 0; $later -lt [int]$world['starts']; $later++) {
        Start-Later $world
        if ($world['tasks']['capwin-agent'] -ne 'Disabled') { Invoke-WorldOnce $world $root $sentinel }
        $state = Read-Table "$root/state.json"
    }
    $report = if ([IO.File]::Exists("$root/report.json")) { Read-Table "$root/report.json" } else { @{} }
    @{
        effects = @($world['effects']); state = $state; report = $report; world = $world; root = $root
        sentinel = [IO.File]::Exists($sentinel)
    }
}

# What is volatile goes with a boot, which also ends what features have begun.
function Start-Boot($World) {
    $World['marker'] = $World['shutdown'] = 0
    $World['pipes'] = @()
    $World['effects'] = @($World['effects']) + 'boot'
    if (-not $World['features']) { return } # the agent has not begun
    foreach ($name in @($World['features'].Keys)) {
        if ($World['features'][$name] -eq 'InstallPending' -and -not $World['featureNeverDone']) { $World['features'][$name] = 'Installed' }
    }
    $World['registry'].Remove($RebootPending)
}

# The machine starts once more after its bootstrap: what is stale is back, and time has passed.
function Start-Later($World) {
    Start-Boot $World
    $World['clock'] += 100000
    foreach ($item in @($World['stale'])) {
        $there = @($World['hns'] | Where-Object { $item -and $_['ID'] -eq $item['ID'] }).Count
        if ($item -and -not $there) { $World['hns'] = @($World['hns']) + $item }
    }
}

# One start of the agent. What it tells its console is kept, and not shown.
function Invoke-WorldOnce($World, [string]$Root, [string]$Sentinel, [scriptblock]$More) {
    . "$NodePlan/agent.ps1" -Root $Root -Sentinel $Sentinel -NoRun
    . "$NodePlan/steps.ps1"
    . "$PSScriptRoot/stubs.ps1"
    if ($More) { . $More }
    $World['behind'] = 0
    foreach ($name in Get-StubVariable) {
        [Environment]::SetEnvironmentVariable($name, (@($World['registry'][$EnvironmentKey][$name]) -join ' '))
    }
    $shown = [Console]::Out
    $console = New-Object IO.StringWriter
    [Console]::SetOut($console)
    try { $null = Invoke-Agent }
    finally {
        [Console]::SetOut($shown)
        $World.console = @($World.console) + @($console.ToString() -split "`n" | Where-Object { $_ })
    }
}
