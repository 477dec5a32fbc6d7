# Scheduled tasks, as the loader makes them. $World.tasks: name -> state; $World.registered: name -> what it was registered with.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

function Get-StubTask([string]$Name) {
    if ($World.tasks.ContainsKey($Name)) { return $true }
    Write-StubError 'The system cannot find the file specified.' 'HRESULT 0x80070002'
    $false
}

function Disable-ScheduledTask {
    [CmdletBinding()] param([string]$TaskName)
    Enter-Stub 'Disable-ScheduledTask'
    if (-not (Get-StubTask $TaskName)) { return }
    $World.tasks[$TaskName] = 'Disabled'
    Add-Effect "task.disable $TaskName"
    [pscustomobject]@{ TaskName = $TaskName; State = 'Disabled' }
}

function Stop-ScheduledTask {
    [CmdletBinding()] param([string]$TaskName)
    Enter-Stub 'Stop-ScheduledTask'
    if (Get-StubTask $TaskName) { Add-Effect "task.stop $TaskName" }
}

# One that is disabled does not start.
function Start-ScheduledTask {
    [CmdletBinding()] param([string]$TaskName)
    Enter-Stub 'Start-ScheduledTask'
    if (-not (Get-StubTask $TaskName)) { return }
    if ($World.tasks[$TaskName] -eq 'Disabled') { Write-StubError 'The task is disabled.' 'HRESULT 0x80041326' 'InvalidOperation'; return }
    Add-Effect "task.start $TaskName"
    if ($World['onStart']) { & $World.onStart }
}

function New-ScheduledTaskAction {
    [CmdletBinding()] param([string]$Execute, [string]$Argument)
    "$Execute $Argument"
}

function New-ScheduledTaskTrigger {
    [CmdletBinding()] param([switch]$AtStartup)
    "startup=$AtStartup"
}

function New-ScheduledTaskPrincipal {
    [CmdletBinding()]
    param(
        [string]$UserId, [ValidateSet('None', 'Password', 'S4U', 'Interactive', 'Group', 'ServiceAccount')][string]$LogonType,
        [ValidateSet('Limited', 'Highest')][string]$RunLevel
    )
    "$UserId $LogonType $RunLevel"
}

function New-ScheduledTaskSettingsSet {
    [CmdletBinding()]
    param(
        [timespan]$ExecutionTimeLimit, [ValidateRange(0, 10)][int]$Priority = 7,
        [ValidateSet('Parallel', 'Queue', 'IgnoreNew')][string]$MultipleInstances, [switch]$AllowStartIfOnBatteries,
        [switch]$DontStopIfGoingOnBatteries, [int]$RestartCount, [timespan]$RestartInterval
    )
    "limit=$ExecutionTimeLimit priority=$Priority instances=$MultipleInstances" +
    " battery=$AllowStartIfOnBatteries,$DontStopIfGoingOnBatteries restarts=$RestartCount,$RestartInterval"
}

function Register-ScheduledTask {
    [CmdletBinding()] param([string]$TaskName, [switch]$Force, $Action, $Trigger, $Principal, $Settings)
    Enter-Stub 'Register-ScheduledTask'
    if ($World.tasks.ContainsKey($TaskName) -and -not $Force) {
        Write-StubError 'Cannot create a file when that file already exists.' 'HRESULT 0x800700b7' 'ResourceExists'
        return
    }
    $World.tasks[$TaskName] = 'Ready'
    Add-Effect "task.register $TaskName"
    $World.registered = "$TaskName|$Action|$Trigger|$Principal|$Settings"
    [pscustomobject]@{ TaskName = $TaskName; State = 'Ready' }
}
