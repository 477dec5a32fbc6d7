# What is held against a vector: its end, a second run in the world that the first has left, and each command that it uses throwing.
# Each function tells what is wrong, one line each; nothing is good.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/world.ps1"

$VectorFolder = (Resolve-Path "$PSScriptRoot/../../../bootstrap/plan/vectors").Path
# What a second run may still do: programs of the user, checks of the end state, the end itself.
$AgainAllowed = 'run *', '  env *', '  in *', 'task.disable *', 'boot', 'post *', 'file C:\run\cluster-api\*'
$AgainRefused = 'run `["sc.exe","create"*', 'run `["sc.exe","config"*'
# A channel, the task and the pause may fail without failing the bootstrap.
$MayThrow = 'Disable-ScheduledTask', 'Invoke-WebRequest', 'rpctool.exe', 'C:\k\kubectl.exe', 'wevtutil.exe', 'Start-Sleep'

function Get-KnownDifference {
    $text = [IO.File]::ReadAllText("$VectorFolder/README.md")
    foreach ($row in [regex]::Matches($text, '(?m)^\| (\d+-[a-z0-9-]+) \|')) { $row.Groups[1].Value }
}

# An expectation has what it speaks of; in all other places stands nothing.
function Read-Vector([string]$File) {
    $vector = Read-Table $File
    foreach ($name in 'gone', 'exists') { if (-not $vector['expect'][$name]) { $vector['expect'][$name] = @() } }
    foreach ($name in 'facts', 'reportFacts', 'durations', 'json') { if (-not $vector['expect'][$name]) { $vector['expect'][$name] = @{} } }
    if (-not $vector['world']) { $vector['world'] = @{} }
    $vector
}

function Compare-Value([string]$What, $Got, $Want) {
    if ("$Got" -cne "$Want") { "$What`: want '$Want', got '$Got'" }
}

function Compare-Lines([string]$What, $Got, $Want) {
    $have = @(@($Got) | Where-Object { $null -ne $_ })
    $wanted = @(@($Want) | Where-Object { $null -ne $_ })
    for ($at = 0; $at -lt [Math]::Max($have.Count, $wanted.Count); $at++) {
        $pair = foreach ($list in $have, $wanted) { if ($at -lt $list.Count) { $list[$at] } else { '(no more)' } }
        if ($pair[0] -cne $pair[1]) { return "$What $at`: want '$($pair[1])', got '$($pair[0])'" }
    }
}

function ConvertTo-Sorted($Node) {
    if ($Node -is [array]) { return '[' + (@(foreach ($item in $Node) { ConvertTo-Sorted $item }) -join ',') + ']' }
    if ($Node -isnot [Collections.IDictionary]) { return (ConvertTo-Json $Node -Compress) }
    '{' + (@(foreach ($key in @($Node.PSBase.Keys | Sort-Object)) { "$key=" + (ConvertTo-Sorted $Node[$key]) }) -join ',') + '}'
}

function Compare-End($Vector, $Got, [string]$Base) {
    $want = $Vector['expect']
    $report = $Got.report
    foreach ($field in 'state', 'reason', 'message', 'exitCode', 'reboots', 'step', 'elapsed') {
        Compare-Value $field $report[$field] $want[$field]
    }
    Compare-Value 'phase' $report['phase']['name'] $want['phase']['name']
    foreach ($field in 'lastLines', 'warnings') { Compare-Lines $field $report[$field] $want[$field] }
    Compare-Lines 'effect' $Got.effects $want['effects']
    Compare-Value 'sentinel' $Got.sentinel $want['sentinel']
    foreach ($name in $want['facts'].PSBase.Keys) { Compare-Value "fact $name" $Got.state['facts'][$name] $want['facts'][$name] }
    foreach ($name in $want['reportFacts'].PSBase.Keys) {
        Compare-Value "fact $name of the report" $report['facts'][$name] $want['reportFacts'][$name]
    }
    foreach ($name in $want['durations'].PSBase.Keys) {
        Compare-Value "duration $name" $report['durations'][$name] $want['durations'][$name]
    }
    if ($report['boot'] -or $want['boot']) { Compare-Boot $report['boot'] $want['boot'] }
    Compare-Disk $want $Got $Base
}

function Compare-Boot($Got, $Want) {
    if (-not $Got -or -not $Want) { return "boot: want '$($null -ne $Want)', got '$($null -ne $Got)'" }
    foreach ($field in $Want.PSBase.Keys) { Compare-Value "boot $field" $Got[$field] $Want[$field] }
    if ($Got['at'] -notmatch '^\d{8}T\d{6}Z$') { "boot at $($Got['at'])" }
}

function Compare-Disk($Want, $Got, [string]$Base) {
    foreach ($path in $Want['gone']) { if (Test-Path -LiteralPath (ConvertTo-BasePath $Base $path)) { "$path is there" } }
    foreach ($path in $Want['exists']) { if (-not (Test-Path -LiteralPath (ConvertTo-BasePath $Base $path))) { "$path is not there" } }
    foreach ($path in $Want['json'].PSBase.Keys) {
        Compare-Value $path (ConvertTo-Sorted (Read-Table (ConvertTo-BasePath $Base $path))) (ConvertTo-Sorted $Want['json'][$path])
    }
    $kept = [IO.File]::ReadAllText("$($Got.root)/plan.json")
    if (-not $Want['keepsSteps'] -and $kept -match '"steps"') { 'the emptied plan has steps' }
    if (@(($kept | ConvertFrom-Json).phases).Count) { 'the emptied plan has phases' }
    $length = [IO.File]::ReadAllText("$($Got.root)/report.json").Length
    if ($length -gt 16384) { "the report has $length characters" }
}

function Find-EndProblem([string]$File, [string]$Base) {
    $vector = Read-Vector $File
    Compare-End $vector (Invoke-World $vector $Base) $Base
}

# The same plan again, by an agent that has forgotten all, in the world that it has left.
function Find-AgainProblem([string]$File, [string]$Base) {
    $vector = Read-Vector $File
    if ($vector['expect']['state'] -ne 'Succeeded') { return }
    $got = Invoke-World $vector $Base
    [IO.File]::Delete("$($got.root)/state.json")
    [IO.File]::WriteAllText("$($got.root)/plan.json", (ConvertTo-PlanText (Read-Vector $File) $Base))
    $world = $got.world
    $world.effects = @()
    $world.Remove('starts')
    $world.commands = @((Read-Vector $File)['world']['commands'] | Where-Object { $_ })
    $second = Invoke-World @{ world = $world } $Base -Again
    Compare-Value 'state of the second run' $second.state['state'] 'Succeeded'
    foreach ($effect in $second.effects) {
        $allowed = @($AgainAllowed | Where-Object { $effect -like $_ }).Count
        $refused = @($AgainRefused | Where-Object { $effect -like $_ }).Count
        if (-not $allowed -or $refused) { "the second run: $effect" }
    }
}

function Find-ThrowProblem([string]$File, [string]$Base) {
    $first = Invoke-World (Read-Vector $File) "$Base-probe"
    if ($first.state['state'] -ne 'Succeeded') { return }
    foreach ($command in @($first.world.calls.Keys)) {
        $vector = Read-Vector $File
        $vector['world']['throws'] = @{ $command = 'broken here' }
        foreach ($other in 'throwTimes', 'hangs') { $vector['world'].Remove($other) }
        Compare-Throw $vector (Invoke-World $vector "$Base-$($command -replace '\W')") $command
    }
}

function Compare-Throw($Vector, $Got, [string]$Command) {
    $report = $Got.report
    if ($Got.state['state'] -eq 'Succeeded') {
        if (-not (Test-MayThrow $Vector $report $Command)) { "$Command failed, and nobody heard of it" }
        return
    }
    Compare-Value "$Command`: state" $report['state'] 'Failed'
    if (-not $report['reason']) { "$Command`: no reason" }
    if ($report['message'] -notmatch 'broken here') { "$Command`: message '$($report['message'])'" }
    if ($Got.sentinel) { "$Command`: the sentinel is there" }
}

# What is optional is told as a warning, or as the result of a later start.
function Test-MayThrow($Vector, $Report, [string]$Command) {
    if ($Command -in $MayThrow -or @($Report['warnings']) -match 'broken here') { return $true }
    if ($Report['boot'] -and $Report['boot']['message'] -match 'broken here') { return $true }
    # A lease that cannot be removed is gone.
    if ($Command -eq 'Remove-NetIPAddress') {
        return @($Vector['world']['addresses'] | Where-Object { $_['origin'] -eq 'Dhcp' }).Count -gt 0
    }
    # In these, programs are channels alone.
    $Command -eq 'Invoke-Program' -and $Vector['name'] -match 'report-(guestinfo|replace)'
}
