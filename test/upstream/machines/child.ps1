# One start of a machine in processes of their own, as on a node: the loader, which starts the agent's, or the agent alone. The power
# fails at the moment $World.killAt, or Windows starts first.
param([string]$Base, [ValidateSet('load', 'start', 'boot', 'later')][string]$Part)
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/life.ps1"
function Send-Word { }
$World = Read-World $Base
$Process = @{ Task = $null } # $script: would be the loader's in what it calls

# The agent goes on with the world as the loader has left it; what it has made of it counts.
function Start-MachineTask {
    Save-World
    $words = '-NoProfile', '-NonInteractive', '-File', $PSCommandPath, '-Base', $Base, '-Part', 'start'
    $Process.Task = Start-Process -PassThru -FilePath $env:PWSH -ArgumentList $words
}

function Wait-MachineTask {
    if ($Process.Task.HasExited) { $World.waited = $true; break LoaderWaits }
    $null = $Process.Task.WaitForExit(200)
}

switch ($Part) {
    'load' {
        Start-MachineLoader $World
        if (-not $Process.Task) { throw "the loader started no task: $($World['said'])" }
        $Process.Task.WaitForExit()
        $said, $waited = $World['said'], $World['waited']
        $World = Read-World $Base
        $World.said, $World.waited = $said, $waited
    }
    'start' { Start-MachineAgent $World }
    'boot' { Restart-Machine $World; Start-MachineAgent $World }
    'later' { Start-Again $World }
}
[IO.File]::WriteAllText("$Base/world.json", (ConvertTo-Json $World -Depth 20 -Compress))
