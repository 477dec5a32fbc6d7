<#
Moments at which the power may fail, commands that throw, and objects of .NET that only Windows has. Dot-source it around the loader, and
behind the stand-ins of test/upstream/powershell in the scope of the agent.
#>
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

# At a moment the power may fail. Spoil leaves what half an act leaves.
function Step-Moment([string]$Name, [scriptblock]$Spoil) {
    $World.moment = 1 + [int]$World['moment']
    if ($World['trace']) { $null = $MomentTrace.Add($Name) }
    if ($World['killAt'] -ne $World.moment) { return }
    if ($Spoil) { & $Spoil }
    Save-World
    [Diagnostics.Process]::GetCurrentProcess().Kill()
    while ($true) { [Threading.Thread]::Sleep(1000) }
}

function Start-Moment([string]$Name) {
    $World.moment = 0
    if ($World['trace']) { $null = $MomentTrace.Add("== $Name") }
}

function Save-World { [IO.File]::WriteAllText("$($World.base)/world.json", (ConvertTo-Json $World -Depth 20 -Compress)) }

# A place is where another life of this machine may go on from, or where this one need not go on.
function Save-Place($Place) {
    if (-not $World['places']) { return }
    Save-World
    Send-Word 'PLACE' $Place
    if ([Console]::In.ReadLine() -eq 'stop') { break PlaceStops }
}

function Enter-Stub([string]$Name) {
    $World.calls[$Name] = 1 + [int]$World.calls[$Name]
    Step-Moment "before $Name"
    $fault = $World['throwAt']
    if (-not $fault -or $fault['command'] -ne $Name -or $fault['call'] -ne $World.calls[$Name]) { return }
    $World.thrown = $true
    # After the bootstrap the plan has no secrets any more, and nothing that Windows says then can have one.
    $later = (Test-Path variable:Agent) -and $Agent.State -and $Agent.State['state'] -eq 'Succeeded'
    throw "$Name`: $(if ($later) { 'the value is not valid' } else { $fault['says'] })"
}

function Add-Effect([string]$Text) {
    $World.effects = @($World.effects) + $Text
    Step-Moment "after $Text"
}

# Serial ports keep what is written; owner and access of the agent's folder are those that the loader asks for.
function New-Object {
    param([Parameter(Position = 0)][string]$TypeName, [Parameter(Position = 1)]$ArgumentList)
    if ($TypeName -eq 'IO.Ports.SerialPort') { return New-SerialPort }
    if ($TypeName -eq 'Security.AccessControl.DirectorySecurity') { return New-FolderAccess }
    if ($TypeName -eq 'IO.FileStream') { Step-Moment "before the opening of $($ArgumentList[0])" }
    if ($null -eq $ArgumentList) { return Microsoft.PowerShell.Utility\New-Object $TypeName }
    Microsoft.PowerShell.Utility\New-Object $TypeName $ArgumentList
}

function New-SerialPort {
    $port = [pscustomobject]@{ WriteTimeout = 0 }
    $write = { param($Line) $World.console = @($World['console']) + $Line }
    $port | Add-Member -MemberType ScriptMethod -Name Open -Value { Enter-Stub 'SerialPort' }
    $port | Add-Member -MemberType ScriptMethod -Name WriteLine -Value $write
    $port | Add-Member -MemberType ScriptMethod -Name Dispose -Value { } -PassThru
}

# A mode of Unix takes the place of DirectorySecurity in CreateDirectory.
function New-FolderAccess {
    $set = { param($Sddl) $World.rootAccess = $Sddl }
    [IO.UnixFileMode]448 | Add-Member -MemberType ScriptMethod -Name SetSecurityDescriptorSddlForm -Value $set -PassThru
}
