<#
The life of a machine: cloudbase-init starts the loader, a task the agent, and Windows both again after each restart. Each start has a
fresh scope. $World is the machine; it has the stand-ins of test/powershell and what is beside this file.
#>
$Here = $PSScriptRoot
$Stands = (Resolve-Path "$PSScriptRoot/../powershell").Path
. "$Stands/world.ps1"
$MomentTrace = [Collections.Generic.List[string]]::new()

function Get-NodeRoot($World) { "$($World.base)/C/ProgramData/capwin" }
function Get-NodeSentinel($World) { "$($World.base)/C/run/cluster-api/bootstrap-success.complete" }
function Get-NodeState($World) {
    $path = "$(Get-NodeRoot $World)/state.json"
    if ([IO.File]::Exists($path)) { Read-Table $path } else { @{ state = 'None' } }
}
function Read-World([string]$Base) {
    $World = ConvertTo-AnyCase (Read-Table "$Base/world.json")
    $World.base = $Base
    $World
}

# The agent that the loader has put into its folder, as its task starts it.
function Start-MachineAgent($World) {
    . "$(Get-NodeRoot $World)/agent.ps1" -Root (Get-NodeRoot $World) -Sentinel (Get-NodeSentinel $World) -NoRun
    . "$Stands/stubs.ps1"
    . "$Here/faults.ps1"
    . "$Here/programs.ps1"
    . "$Here/machine.ps1"
    Start-Moment 'start'
    Save-Place @{ boot = $false; phase = -1; step = -1; name = 'start' }
    $null = Invoke-Agent
}

# The loader waits for what never comes while the agent has run before it: then cloudbase-init goes on, or Windows restarts.
function Start-MachineLoader($World) {
    . "$Here/faults.ps1"
    . "$Here/tasks.ps1"
    Start-Moment 'load'
    function Start-Sleep { param([int]$Seconds) $null = $Seconds; Wait-MachineTask }
    :LoaderWaits foreach ($once in 1) {
        & "$($World.staging)/loader.ps1" -Root (Get-NodeRoot $World) | ForEach-Object { $World.said = @($World['said']) + $_ }
    }
}

# The loader's task; a process of its own may take its place.
function Start-MachineTask { Start-Fresh { Start-MachineAgent $World } }

function Wait-MachineTask { $World.waited = $true; break LoaderWaits }

# A process has its own variables of the environment.
function Start-Fresh([scriptblock]$Do) {
    $before = [Environment]::GetEnvironmentVariables()
    try { & $Do }
    finally {
        foreach ($name in @([Environment]::GetEnvironmentVariables().Keys)) { if (-not $before.Contains($name)) { [Environment]::SetEnvironmentVariable($name, $null) } }
        foreach ($name in $before.Keys) { [Environment]::SetEnvironmentVariable($name, $before[$name]) }
    }
}

# Windows starts: automatic services run, the kubelet only with a certificate.
function Restart-Machine($World) {
    Start-Boot $World
    $World.node.off = $false
    foreach ($name in @($World.services.Keys)) {
        $start = $World.registry["HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\$name"]
        if ($start -and $start['Start']) { $World.services[$name]['state'] = if ($start['Start'] -eq 2) { 'Running' } else { 'Stopped' } }
    }
    $joined = [IO.File]::Exists("$($World.base)/C/var/lib/kubelet/pki/kubelet-client-current.pem")
    if (-not $joined) { $World.services['kubelet']['state'] = 'Stopped' }
    $World.pipes = @('containerd-containerd')
}

# From where it is until the bootstrap has ended, at most ten starts more.
function Complete-Bootstrap($World) {
    for ($boot = 0; $boot -lt 10; $boot++) {
        $state = Get-NodeState $World
        if (-not $World.tasks['capwin-agent']) { return } # the loader has failed
        if ($state.state -in 'Succeeded', 'Failed' -and -not $World.node['off']) { return }
        if ($World.node['off']) { Restart-Machine $World }
        Start-Fresh { Start-MachineAgent $World }
    }
}

# A later start, a day after: what the CNI has left is there.
function Start-Again($World) {
    Restart-Machine $World
    $World.clock += 100000
    foreach ($item in @($World['stale'])) { if ($item) { $World.hns = @($World.hns | Where-Object { $_['ID'] -ne $item['ID'] }) + $item.Clone() } }
    if (Test-TaskEnabled $World) { Start-Fresh { Start-MachineAgent $World } }
}
function Test-TaskEnabled($World) { $World.tasks['capwin-agent'] -eq 'Ready' }
