<#
One of a few long-lived processes that live the lives of many machines, each start of each in a fresh scope. A job is a line of JSON
on the standard input: { base, act, starts }. base is the folder of the machine with its world.json; act is load for the loader, restart
for the agent, boot for Windows and the agent; then Windows starts so often. The answer is a line, too.
#>
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/life.ps1"

# Nothing else that is written can be taken for an answer.
function Send-Word([string]$Word, $Content) { [Console]::Out.WriteLine("@@$Word " + (ConvertTo-Json $Content -Depth 5 -Compress)) }

function Get-Processed { [Diagnostics.Process]::GetCurrentProcess().TotalProcessorTime.TotalMilliseconds }

function Invoke-Job($Job) {
    $World = Read-World $Job.base
    $begin = Get-Processed
    $problem = ''
    $MomentTrace.Clear()
    :PlaceStops foreach ($once in 1) {
        try { Invoke-Part $World $Job } catch { $problem = "$_ $($_.ScriptStackTrace)" }
    }
    [IO.File]::WriteAllText("$($Job.base)/world.json", (ConvertTo-Json $World -Depth 20 -Compress))
    if ($World['trace']) { [IO.File]::WriteAllLines("$($Job.base)/moments", $MomentTrace) }
    Send-Word 'DONE' @{ error = $problem; milliseconds = [int]((Get-Processed) - $begin) }
}

function Invoke-Part($World, $Job) {
    if ($Job.act -eq 'load') { Start-MachineLoader $World }
    if ($Job.act -eq 'boot') { Restart-Machine $World }
    if ($Job.act -in 'boot', 'restart') { Start-Fresh { Start-MachineAgent $World } }
    if ($Job.act) { Complete-Bootstrap $World }
    for ($start = 0; $start -lt $Job.starts; $start++) { Start-Again $World }
}

while ($line = [Console]::In.ReadLine()) { Invoke-Job ($line | ConvertFrom-Json) }
