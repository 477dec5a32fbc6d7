# Puts one fault after another into a copy of the scripts, and looks for a vector or a suite that sees it. Only vectors are tried whose
# run calls the function in which the fault is. -Rows names rows, all without it; -Queue is a folder that processes share.
param([string]$Queue, [string]$Result, [string]$Map, [string]$Rows)
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/vectors.ps1"
Import-Module Pester -MinimumVersion 5.0
$Scripts = $NodePlan
$Folder = Join-Path ([IO.Path]::GetTempPath()) "mutants-$PID"

function Read-Mutant {
    foreach ($block in [IO.File]::ReadAllText("$PSScriptRoot/mutants.txt") -split '\n\n' | Where-Object { $_ -match '^row ' }) {
        $mutant = @{ row = ''; in = ''; find = ''; put = ''; by = '' }
        foreach ($line in $block.Trim() -split '\n') {
            $name, $text = $line -split ' ', 2
            $mutant[$name] = [string]$text
        }
        if (-not $Rows -or $mutant.row -in ($Rows -split ',')) { $mutant }
    }
}

function Get-Row {
    foreach ($line in [IO.File]::ReadAllLines("$PSScriptRoot/README.md")) { if ($line -match '^\| ([a-z]+-[a-z]+) \|') { $Matches[1] } }
}

# A copy of the scripts in which each function first tells its name.
function Write-Traced([string]$To) {
    $null = [IO.Directory]::CreateDirectory($To)
    foreach ($name in 'agent.ps1', 'steps.ps1') {
        $text = [IO.File]::ReadAllText("$Scripts/$name")
        $places = Get-FunctionPlace $text | Sort-Object -Property Body -Descending
        foreach ($place in $places) { $text = $text.Insert($place.Body, " `$Traced['$($place.Name)'] = 1; ") }
        [IO.File]::WriteAllText("$To/$name", $text)
    }
}

# Where functions stand in a text, and where the first statement of each can be.
function Get-FunctionPlace([string]$Text) {
    $tree = [Management.Automation.Language.Parser]::ParseInput($Text, [ref]$null, [ref]$null)
    foreach ($one in $tree.FindAll({ param($Node) $Node -is [Management.Automation.Language.FunctionDefinitionAst] }, $true)) {
        $parameters = $one.Body.ParamBlock
        $body = if ($parameters) { $parameters.Extent.EndOffset } else { $one.Body.Extent.StartOffset + 1 }
        @{ Name = $one.Name; Start = $one.Extent.StartOffset; End = $one.Extent.EndOffset; Body = $body }
    }
}

# Which functions the run of each vector calls.
function Write-Map {
    Write-Traced "$Folder/traced"
    $script:NodePlan = "$Folder/traced"
    $known = @(Get-KnownDifference)
    $calls = [ordered]@{}
    foreach ($file in Get-ChildItem $VectorFolder -Filter *.json | Where-Object { $_.BaseName -notin $known }) {
        $script:Traced = @{}
        $null = Invoke-World (Read-Vector $file.FullName) "$Folder/map"
        [IO.Directory]::Delete("$Folder/map", $true)
        $calls[$file.BaseName] = [string[]]@($Traced.Keys)
    }
    [IO.File]::WriteAllText($Map, (ConvertTo-Json $calls -Depth 3))
}

# The scripts with one fault. It is no fault any more if its place has changed.
function Write-Faulty($Mutant, [string]$To) {
    $null = [IO.Directory]::CreateDirectory($To)
    foreach ($name in 'agent.ps1', 'steps.ps1', 'loader.ps1') {
        $text = [IO.File]::ReadAllText("$Scripts/$name")
        if ($name -eq $Mutant.in) {
            $at = $text.IndexOf($Mutant.find, [StringComparison]::Ordinal)
            if ($at -lt 0 -or $text.IndexOf($Mutant.find, $at + 1, [StringComparison]::Ordinal) -ge 0) {
                throw "$($Mutant.in) does not have this text exactly once; mutants.txt must follow: $($Mutant.find)"
            }
            $place = @(Get-FunctionPlace $text | Where-Object { $_.Start -le $at -and $_.End -ge $at }) | Select-Object -Last 1
            $text = $text.Remove($at, $Mutant.find.Length).Insert($at, $Mutant.put)
        }
        [IO.File]::WriteAllText("$To/$name", $text)
    }
    if ($place) { $place.Name } else { '' }
}

# What sees the fault: a vector's end first, which is cheap, then a second run, then calls that throw. '' is nothing.
function Find-Killer($Mutant, [string]$To) {
    $function = Write-Faulty $Mutant $To
    if ($Mutant.by) { return Test-Suite $Mutant.by $To }
    $script:NodePlan = $To
    $calls = Read-Table $Map
    $files = @($calls.Keys | Where-Object { $function -in $calls[$_] })
    foreach ($look in 'Find-EndProblem', 'Find-AgainProblem', 'Find-ThrowProblem') {
        foreach ($name in $files) {
            $problems = @(& $look "$VectorFolder/$name.json" "$To/world")
            foreach ($left in [IO.Directory]::GetDirectories($To)) { [IO.Directory]::Delete($left, $true) }
            if ($problems.Count) { return "vector $name" }
        }
    }
    ''
}

function Test-Suite([string]$Suite, [string]$To) {
    $env:CAPWIN_SCRIPTS = $To
    try {
        $configuration = New-PesterConfiguration
        $configuration.Run.Path = "$PSScriptRoot/$Suite.Tests.ps1"
        $configuration.Run.PassThru = $true
        $configuration.Output.Verbosity = 'None'
        $configuration.Run.SkipRemainingOnFailure = 'Run'
        $failed = (Invoke-Pester -Configuration $configuration).Failed
        if ($failed) { $failed[0].ExpandedPath } else { '' }
    }
    finally { $env:CAPWIN_SCRIPTS = '' }
}

function Invoke-Mutant($Mutant, [int]$At) {
    try { [IO.File]::Open("$Queue/$At", 'CreateNew').Dispose() } catch [IO.IOException] { return }
    try { $killer = Find-Killer $Mutant "$Folder/$At" } catch { return "ERROR $($Mutant.row): $($_.Exception.Message)" }
    finally { if ([IO.Directory]::Exists("$Folder/$At")) { [IO.Directory]::Delete("$Folder/$At", $true) } }
    $state = if ($killer) { 'dead' } else { 'ALIVE' }
    '{0,-16} {1,-5} {2}' -f $Mutant.row, $state, $(if ($killer) { $killer } else { "$($Mutant.find) -> $($Mutant.put)" })
}

try {
    if (-not $Queue) { Write-Map; return }
    $mutants = @(Read-Mutant)
    $lines = for ($at = 0; $at -lt $mutants.Count; $at++) { Invoke-Mutant $mutants[$at] $at }
    $known = @($mutants | ForEach-Object { $_.row })
    if (-not $Rows) { $lines += @(Get-Row | Where-Object { $_ -notin $known } | ForEach-Object { "BARE $_" }) }
    [IO.File]::WriteAllLines($Result, [string[]]@($lines))
}
finally { if ([IO.Directory]::Exists($Folder)) { [IO.Directory]::Delete($Folder, $true) } }
