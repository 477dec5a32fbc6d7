<#
Moments at which the power may fail, commands that throw, and objects of .NET that only Windows has. Dot-source it around the loader, and
after the stand-ins of test/powershell in the scope of the agent.
#>
# A moment is a place at which the power may fail. Spoil leaves what half an act leaves.
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
    if ($World['trace']) { $MomentTrace.Add("== $Name") }
}
# A place is where another life of this machine may go on from, or where this one need not go on.
function Save-Place($Place) {
    if (-not $World['places']) { return }
    Save-World
    Send-Word 'PLACE' $Place
    if ([Console]::In.ReadLine() -eq 'stop') { break PlaceStops }
}
function Save-World { [IO.File]::WriteAllText("$($World.base)/world.json", (ConvertTo-Json $World -Depth 20 -Compress)) }

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
    $port | Add-Member ScriptMethod Open { Enter-Stub 'SerialPort' }
    $port | Add-Member ScriptMethod WriteLine { param($Line) $World.console = @($World['console']) + $Line }
    $port | Add-Member ScriptMethod Dispose { } -PassThru
}
# A mode of Unix takes the place of DirectorySecurity in CreateDirectory.
function New-FolderAccess {
    [IO.UnixFileMode]448 | Add-Member ScriptMethod SetSecurityDescriptorSddlForm { param($Sddl) $World.rootAccess = $Sddl } -PassThru
}
