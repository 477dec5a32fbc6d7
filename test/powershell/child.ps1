# One run of the agent in the world of BASE/world.json, ended by force at the KillAt-th write of state.json (before or after it),
# or after the KillAt-th effect.
param([string]$Base, [int]$KillAt, [string]$Moment)
$ErrorActionPreference = 'Stop'
$NodePlan = (Resolve-Path "$PSScriptRoot/../../bootstrap/scripts").Path
$World = Get-Content -Raw "$Base/world.json" | ConvertFrom-Json -AsHashtable
. "$NodePlan/agent.ps1" -Root "$Base/C/ProgramData/capwin" -Sentinel "$Base/C/run/cluster-api/bootstrap-success.complete" -NoRun
. "$NodePlan/steps.ps1"
. "$PSScriptRoot/stubs.ps1"
$script:Saves = 0
function Stop-Here { Set-Content "$Base/world.json" (ConvertTo-Json $World -Depth 20); [Environment]::Exit(137) }
function Save-Text([string]$Path, [string]$Text) {
    $mine = $Path -like '*state.json'
    if ($mine) { $script:Saves++ }
    if ($mine -and $script:Saves -eq $KillAt -and $Moment -eq 'before') { Stop-Here }
    Save-File $Path ([Text.Encoding]::UTF8.GetBytes($Text)) ''
    if ($mine -and $script:Saves -eq $KillAt -and $Moment -eq 'after') { Stop-Here }
}
if ($Moment -eq 'effect') {
    $script:Effects = 0
    function Add-Effect([string]$Text) {
        $World.effects = @($World.effects) + $Text
        $script:Effects++
        if ($script:Effects -eq $KillAt) { Stop-Here }
    }
}
Invoke-Agent
$World.saves = $script:Saves
Set-Content "$Base/world.json" (ConvertTo-Json $World -Depth 20)
