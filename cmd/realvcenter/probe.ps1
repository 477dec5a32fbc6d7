# Asks this Windows what no simulator knows, and tells the answers in a guestinfo variable, as base64 of JSON. It runs in a VM of
# realvcenter alone, as SYSTEM, in a step of the agent.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$Folder = 'C:\run\capwin-probe'
$Tool = 'C:\Program Files\VMware\VMware Tools\rpctool.exe'
$Answers = @{}

# A question that fails is an answer, too.
function Set-Answer([string]$Name, [scriptblock]$Ask) {
    try { & $Ask } catch { $Answers["$($Name)Error"] = [string]$_.Exception.Message }
}

# The canary stands in the plan, beside the place of its secrets.
function Measure-EventLog {
    $canary = [IO.File]::ReadAllText("$Folder\canary.txt")
    $filter = @{ LogName = 'Microsoft-Windows-PowerShell/Operational'; Id = 4103, 4104 }
    # No event of this kind is an error to the command.
    $events = @(Get-WinEvent -FilterHashtable $filter -ErrorAction SilentlyContinue)
    $Answers['events'] = $events.Count
    $Answers['eventsWithCanary'] = @($events | Where-Object { $_.Message -and $_.Message.Contains($canary) }).Count
    # So begins what gzip packs, in base64.
    $Answers['eventsWithPacked'] = @($events | Where-Object { $_.Message -cmatch 'H4sI[A-Za-z0-9+/]{200}' }).Count
    $key = 'HKLM:\SOFTWARE\Policies\Microsoft\Windows\PowerShell\ScriptBlockLogging'
    # Without a policy there is no key.
    $policy = Get-ItemProperty -Path $key -ErrorAction SilentlyContinue
    $Answers['logsEveryScript'] = [bool]($policy -and $policy.PSObject.Properties['EnableScriptBlockLogging'])
}

function Measure-Chain($Certificate) {
    $clock = [Diagnostics.Stopwatch]::StartNew()
    $chain = New-Object Security.Cryptography.X509Certificates.X509Chain
    $chain.ChainPolicy.RevocationMode = 'NoCheck'
    $null = $chain.Build($Certificate)
    [Math]::Round($clock.Elapsed.TotalSeconds, 1)
}

# A root that Windows does not know makes it look for updates of its store, through ports 80 and 443.
function Measure-Probe {
    $store = 'Cert:\LocalMachine\My'
    $certificate = New-SelfSignedCertificate -DnsName 'capwin-probe' -CertStoreLocation $store
    $block = @{ DisplayName = 'capwin-probe'; Direction = 'Outbound'; Action = 'Block'; Protocol = 'TCP'; RemotePort = '80', '443' }
    $null = New-NetFirewallRule @block
    try { $Answers['chainSeconds'] = Measure-Chain $certificate }
    finally {
        Remove-NetFirewallRule -DisplayName 'capwin-probe'
        Remove-Item -Path "$store\$($certificate.Thumbprint)"
    }
}

function Get-Origin([int]$Index, [string]$Address) {
    # That there is no address is one of the answers.
    $all = @(Get-NetIPAddress -InterfaceIndex $Index -AddressFamily IPv4 -ErrorAction SilentlyContinue)
    $found = @($all | Where-Object { $_.IPAddress -eq $Address })
    if ($found.Count) { [string]$found[0].PrefixOrigin } else { 'gone' }
}

# An address by DHCP: does it stay when DHCP is switched off? In the end it is switched on again.
function Measure-Lease {
    $lease = @(Get-NetIPAddress -AddressFamily IPv4 | Where-Object { [string]$_.PrefixOrigin -eq 'Dhcp' })
    if (-not $lease.Count) { throw 'no adapter has an address by DHCP' }
    $index, $address = $lease[0].InterfaceIndex, $lease[0].IPAddress
    Set-NetIPInterface -InterfaceIndex $index -AddressFamily IPv4 -Dhcp Disabled
    try {
        $Answers['leaseAtOnce'] = Get-Origin $index $address
        Start-Sleep -Seconds 10
        $Answers['leaseAfter10s'] = Get-Origin $index $address
    }
    finally { Set-NetIPInterface -InterfaceIndex $index -AddressFamily IPv4 -Dhcp Enabled }
    $ipconfig = Join-Path $env:SystemRoot 'System32\ipconfig.exe'
    & $ipconfig /renew | Out-Null
}

# A task with the settings of the agent's: started while it runs, and restarted or not after it has failed.
function Measure-Task {
    $log, $name = "$Folder\task.log", 'capwin-probe'
    $shell = "$env:SystemRoot\System32\cmd.exe"
    $settings = New-ScheduledTaskSettingsSet -MultipleInstances IgnoreNew -RestartCount 3 -RestartInterval ([TimeSpan]::FromMinutes(1))
    $task = @{
        Action    = New-ScheduledTaskAction -Execute $shell -Argument "/c echo run>>$log & ping -n 6 127.0.0.1 >nul & exit 1"
        Principal = New-ScheduledTaskPrincipal -UserId 'S-1-5-18' -LogonType ServiceAccount -RunLevel Highest
        Settings  = $settings
    }
    $null = Register-ScheduledTask -TaskName $name -Force @task
    Start-ScheduledTask -TaskName $name
    Start-Sleep -Seconds 2
    $null = Register-ScheduledTask -TaskName $name -Force @task
    Start-ScheduledTask -TaskName $name
    Start-Sleep -Seconds 10
    $Answers['taskRuns'] = @([IO.File]::ReadAllLines($log)).Count
    Start-Sleep -Seconds 90
    $Answers['taskRunsLater'] = @([IO.File]::ReadAllLines($log)).Count
    Unregister-ScheduledTask -TaskName $name -Confirm:$false
}

Set-Answer 'eventLog' { Measure-EventLog }
Set-Answer 'probe' { Measure-Probe }
Set-Answer 'lease' { Measure-Lease }
Set-Answer 'task' { Measure-Task }
Set-Answer 'root' { $Answers['sddl'] = (Get-Acl -LiteralPath 'C:\ProgramData\capwin').Sddl }
$json = [Text.Encoding]::UTF8.GetBytes((ConvertTo-Json -InputObject $Answers -Compress))
& $Tool "info-set guestinfo.capwin.probe $([Convert]::ToBase64String($json))" | Out-Null
exit $LASTEXITCODE
