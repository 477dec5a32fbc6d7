<#
Carries out plans as long as standard input names some, one line of JSON each: { vector, base, out, culture }. What became of the
machine is written to the file "out"; the files of its disk stay below base. Then standard output says "done".
-Tests is the folder of world.ps1.
#>
#requires -Version 7.5
param([string]$Tests)
. "$Tests/world.ps1"

# Whatever a plan sets in the environment of this process, the next one must not see.
function Restore-Environment($Before) {
    foreach ($name in @([Environment]::GetEnvironmentVariables().Keys)) {
        if (-not $Before.ContainsKey($name)) { [Environment]::SetEnvironmentVariable($name, $null) }
    }
    foreach ($name in $Before.Keys) { [Environment]::SetEnvironmentVariable($name, $Before[$name]) }
}

function Invoke-Twin($Job) {
    $vector = [IO.File]::ReadAllText($Job.vector) | ConvertFrom-Json -AsHashtable -DateKind String
    $before = @{}
    foreach ($entry in [Environment]::GetEnvironmentVariables().GetEnumerator()) { $before[$entry.Key] = $entry.Value }
    $console = [Console]::Out
    $said = [IO.StringWriter]::new()
    $thread = [Threading.Thread]::CurrentThread
    $culture = $thread.CurrentCulture
    $result = [ordered]@{ died = $false; why = ''; effects = @(); acl = @{}; console = ''; started = @() }
    $got = $null
    try {
        [Console]::SetOut($said)
        if ($Job.culture) { $thread.CurrentCulture = $Job.culture }
        $got = Invoke-World $vector $Job.base
        $result.effects = [string[]]@($got.effects)
        $result.acl = $got.world.acl
        if ($got.world['sights']) { $result.started = @($got.world['sights']) } else { $result.Remove('started') }
    }
    catch { $result.died = $true; $result.why = "$_ $($_.ScriptStackTrace)" }
    finally {
        [Console]::SetOut($console)
        $thread.CurrentCulture = $culture
        Restore-Environment $before
    }
    $result.console = if ($got -and $got.world['console']) { @($got.world['console']) -join "`n" } else { $said.ToString() }
    [IO.File]::WriteAllText($Job.out, (ConvertTo-Json $result -Depth 8 -Compress))
}

$answers = [Console]::Out
while ($null -ne ($line = [Console]::In.ReadLine())) {
    Invoke-Twin ($line | ConvertFrom-Json -AsHashtable)
    $answers.WriteLine('done')
    $answers.Flush()
}
