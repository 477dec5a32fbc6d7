<#
What the loader finds of Windows: tasks, and owner and access of the agent's folder. Its task runs the agent at once, or in a
process of its own. Dot-source it around the loader, which brings the functions of the agent itself.
#>
function Get-Acl([string]$LiteralPath) {
    Enter-Stub 'Get-Acl'
    if (-not [IO.Directory]::Exists($LiteralPath)) { throw "Cannot find path '$LiteralPath' because it does not exist." }
    [pscustomobject]@{} | Add-Member ScriptMethod GetSecurityDescriptorSddlForm { if ($World['rootAccess']) { $World.rootAccess } else { 'O:BAD:AI' } } -PassThru
}
function Stop-ScheduledTask { [CmdletBinding()] param([string]$TaskName) Enter-Stub 'Stop-ScheduledTask'; if (-not $World.tasks[$TaskName]) { Write-Error "no task $TaskName" } }
function New-ScheduledTaskAction([string]$Execute, [string]$Argument) { Enter-Stub 'New-ScheduledTaskAction'; "$Execute $Argument" }
function New-ScheduledTaskTrigger([switch]$AtStartup) { Enter-Stub 'New-ScheduledTaskTrigger'; "startup=$AtStartup" }
function New-ScheduledTaskPrincipal([string]$UserId, [string]$LogonType, [string]$RunLevel) { Enter-Stub 'New-ScheduledTaskPrincipal'; "$UserId $LogonType $RunLevel" }
function New-ScheduledTaskSettingsSet {
    param([timespan]$ExecutionTimeLimit, [int]$Priority, [string]$MultipleInstances, [switch]$AllowStartIfOnBatteries,
        [switch]$DontStopIfGoingOnBatteries, [int]$RestartCount, [timespan]$RestartInterval)
    Enter-Stub 'New-ScheduledTaskSettingsSet'
    "$ExecutionTimeLimit $Priority $MultipleInstances $AllowStartIfOnBatteries $DontStopIfGoingOnBatteries $RestartCount $RestartInterval"
}
function Register-ScheduledTask([string]$TaskName, [switch]$Force, $Action, $Trigger, $Principal, $Settings) {
    Enter-Stub 'Register-ScheduledTask'
    if ($World.tasks[$TaskName] -and -not $Force) { throw 'Cannot create a file when that file already exists.' }
    $World.task = "$TaskName|$Action|$Trigger|$Principal|$Settings"
    $World.tasks[$TaskName] = 'Ready'
    Step-Moment 'after Register-ScheduledTask'
}
function Start-ScheduledTask([string]$TaskName) {
    Enter-Stub 'Start-ScheduledTask'
    if ($World.tasks[$TaskName] -ne 'Ready') { throw 'The system cannot find the file specified.' }
    Start-MachineTask
}
