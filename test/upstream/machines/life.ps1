<#
The life of a machine: cloudbase-init starts the loader, a task the agent, and Windows both again after each restart. Each start has a
fresh scope. $World is the machine; it has the stand-ins of test/upstream/powershell and what is beside this file.
#>
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
$Here = $PSScriptRoot
$Stands = (Resolve-Path "$PSScriptRoot/../powershell").Path
. "$Stands/world.ps1"
$MomentTrace = New-Object Collections.Generic.List[string]

function Get-NodeRoot($World) { "$($World.base)/C/ProgramData/capwin" }
function Get-NodeSentinel($World) { "$($World.base)/C/run/cluster-api/bootstrap-success.complete" }

function Get-NodeState($World) {
    $path = "$(Get-NodeRoot $World)/state.json"
    if ([IO.File]::Exists($path)) { (Read-Table $path)['state'] } else { 'None' }
}

function Read-World([string]$Base) {
    $World = ConvertTo-AnyCase (Read-Table "$Base/world.json")
    $World.base = $Base
    $World.started = 0
    $World.onStart = 'Start-MachineTask'
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

# The loader finds tasks, and owner and access of the agent's folder. It waits for what never comes while the agent has run before:
# then cloudbase-init goes on, or Windows restarts.
function Start-MachineLoader($World) {
    . "$Here/faults.ps1"
    . "$Stands/stubs/errors.ps1"
    . "$Stands/stubs/tasks.ps1"
    Start-Moment 'load'
    function Start-Sleep { param([int]$Seconds, [int]$Milliseconds) if ($Seconds) { Wait-MachineTask } else { $null = $Milliseconds } }
    function Get-Acl { [CmdletBinding()] param([string]$LiteralPath) Get-RootAccess $LiteralPath }
    $loader = "$($World.staging)/loader.ps1"
    :LoaderWaits foreach ($once in 1) {
        & $loader -Root (Get-NodeRoot $World) | ForEach-Object { $World.said = @($World['said']) + $_ }
    }
}

function Get-RootAccess([string]$Path) {
    Enter-Stub 'Get-Acl'
    if (-not [IO.Directory]::Exists($Path)) {
        Write-StubError "Cannot find path '$Path' because it does not exist." 'GetAcl_PathNotFound_Exception'
        return
    }
    $get = { if ($World['rootAccess']) { $World.rootAccess } else { 'O:BAD:AI' } }
    [pscustomobject]@{} | Add-Member -MemberType ScriptMethod -Name GetSecurityDescriptorSddlForm -Value $get -PassThru
}

# The loader's task; a process of its own may take its place.
function Start-MachineTask { Start-Fresh { Start-MachineAgent $World } }

function Wait-MachineTask { $World.waited = $true; break LoaderWaits }

# A process has its own variables of the environment.
function Start-Fresh([scriptblock]$Do) {
    $before = [Environment]::GetEnvironmentVariables()
    try { & $Do }
    finally {
        $new = @([Environment]::GetEnvironmentVariables().Keys | Where-Object { -not $before.Contains($_) })
        foreach ($name in $new) { [Environment]::SetEnvironmentVariable($name, $null) }
        foreach ($name in $before.Keys) { [Environment]::SetEnvironmentVariable($name, $before[$name]) }
    }
}

# Windows starts: automatic services run, the kubelet only with a certificate.
function Restart-Machine($World) {
    Start-Boot $World
    $World.node.off = $false
    foreach ($name in @($World.services.Keys)) {
        $values = $World.registry["HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\$name"]
        if (-not $values -or -not $values['Start']) { continue }
        $World.services[$name]['state'] = if ($values['Start'] -eq 2) { 'Running' } else { 'Stopped' }
    }
    $joined = [IO.File]::Exists("$($World.base)/C/var/lib/kubelet/pki/kubelet-client-current.pem")
    if (-not $joined) { $World.services['kubelet']['state'] = 'Stopped' }
    $World.pipes = @('containerd-containerd')
}

# From where it is until the bootstrap has ended, at most ten starts more.
function Complete-Bootstrap($World) {
    for ($boot = 0; $boot -lt 10; $boot++) {
        if (-not $World.tasks['capwin-agent']) { return } # the loader has failed
        if ((Get-NodeState $World) -in 'Succeeded', 'Failed' -and -not $World.node['off']) { return }
        if ($World.node['off']) { Restart-Machine $World }
        Start-Fresh { Start-MachineAgent $World }
    }
}

# A later start, a day after: what the CNI has left is there.
function Start-Again($World) {
    Restart-Machine $World
    $World.clock += 100000
    foreach ($item in @($World['stale'] | Where-Object { $_ })) {
        $World.hns = @($World.hns | Where-Object { $_['ID'] -ne $item['ID'] }) + $item.Clone()
    }
    if ($World.tasks['capwin-agent'] -eq 'Ready') { Start-Fresh { Start-MachineAgent $World } }
}
