# Go's user data -> loader -> task -> agent, with the Windows commands recorded.
BeforeAll {
    . "$PSScriptRoot/world.ps1"
    $script:Shell = (Get-Process -Id $PID).Path
    # The folder that cloudbase-init makes of user data, with agent.ps1, loader.ps1 and plan.json in it.
    function New-Staging([string]$Uid, [string]$Name, [int]$Wait = 20, [switch]$Hold) {
        $b64 = [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes('S3CRET'))
        $plan = @{ version = 1; waitSeconds = $Wait; machine = @{ uid = $Uid; name = 'm'; node = 'n' }; report = @(); redact = @('S3CRET')
            phases = @(@{ name = 'one'; steps = @(@{ do = 'file'; name = 'f'; path = "$TestDrive/out-$Uid.txt"; content = $b64 }) })
        }
        if ($Hold) { $plan.hold = $true }
        Set-Content "$TestDrive/$Name.json" (ConvertTo-Json $plan -Depth 9)
        & go run -C $PSScriptRoot ./userdata "$TestDrive/$Name.json" "$TestDrive/capwin-$Name"
        if ($LASTEXITCODE) { throw "user data: exit code $LASTEXITCODE" }
        "$TestDrive/capwin-$Name"
    }
    # Runs the loader in a process where the commands of Windows write to a log, as does whether its folder and a root are
    # there at each of them; the "task" starts the agent that the loader has put into the root. Access is what -Access says.
    function Invoke-Loader([string]$Staging, [string]$Root, [string]$Task = 'run', [string]$Access = 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)') {
        $driver = @"
`$Log = '$Root.log'
function Write-Log(`$Text) { Add-Content `$Log "`$Text staging=`$(Test-Path '$Staging')" }
# DirectorySecurity is of Windows; a mode of Unix takes its place in CreateDirectory.
function New-Object(`$TypeName, `$ArgumentList) {
    if (`$TypeName -ne 'Security.AccessControl.DirectorySecurity') { return Microsoft.PowerShell.Utility\New-Object `$TypeName `$ArgumentList }
    [IO.UnixFileMode]448 | Add-Member ScriptMethod SetSecurityDescriptorSddlForm { param(`$s, `$what) Write-Log "access root=`$(Test-Path '$Root') `$s" } -PassThru
}
function Get-Acl(`$LiteralPath) {
    if (-not (Test-Path `$LiteralPath)) { throw 'no such folder' }
    [pscustomobject]@{} | Add-Member ScriptMethod GetSecurityDescriptorSddlForm { '$Access' } -PassThru
}
function Stop-ScheduledTask { [CmdletBinding()] param(`$TaskName) Write-Log 'stop' }
function New-ScheduledTaskAction(`$Execute, `$Argument) { "`$Execute `$Argument" }
function New-ScheduledTaskTrigger([switch]`$AtStartup) { "startup=`$AtStartup" }
function New-ScheduledTaskPrincipal(`$UserId, `$LogonType, `$RunLevel) { "`$UserId `$LogonType `$RunLevel" }
function New-ScheduledTaskSettingsSet([timespan]`$ExecutionTimeLimit, `$Priority, `$MultipleInstances, [switch]`$AllowStartIfOnBatteries, [switch]`$DontStopIfGoingOnBatteries, `$RestartCount, `$RestartInterval) { "limit=`$ExecutionTimeLimit" }
function Register-ScheduledTask(`$TaskName, [switch]`$Force, `$Action, `$Trigger, `$Principal, `$Settings) { Write-Log "register `$TaskName|`$Action|`$Trigger|`$Principal|`$Settings" }
function Start-ScheduledTask(`$TaskName) {
    Write-Log 'start'
    if ('$Task' -eq 'run') { Start-Process '$Shell' -ArgumentList '-NoProfile', '-File', '$Root.task.ps1' -RedirectStandardOutput '$Root.o' -RedirectStandardError '$Root.e' }
}
& '$Staging/loader.ps1' -Root '$Root'
exit `$LASTEXITCODE
"@
        Set-Content "$Root.task.ps1" "`$World = @{ base = '$TestDrive/base' }; . '$Root/agent.ps1' -Root '$Root' -Sentinel '$Root.done' -NoRun; . '$PSScriptRoot/stubs.ps1'; Invoke-Agent"
        Set-Content "$Root.driver.ps1" $driver
        if (Test-Path "$Root.log") { Remove-Item "$Root.log" }
        $text = & $Shell -NoProfile -File "$Root.driver.ps1"
        @{ Text = @($text) -join "`n"; Code = $LASTEXITCODE; Log = @(if (Test-Path "$Root.log") { Get-Content "$Root.log" }) }
    }
}

Describe 'loader' {
    It 'makes the root, registers, starts, waits, tells, and holds no secret in its output' {
        $root = "$TestDrive/r1"
        $staging = New-Staging 'u1' 'a'
        $agent = [IO.File]::ReadAllText("$staging/agent.ps1")
        $got = Invoke-Loader $staging $root
        $got.Text | Should -Be 'CAPWIN uid=u1 state=Succeeded phase=one reason='
        $got.Code | Should -Be 0
        $got.Log[0] | Should -Be 'stop staging=True'
        $got.Log[1] | Should -Be 'access root=False O:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA) staging=True' -Because 'access is there before the folder'
        $got.Log[2] | Should -Match 'register capwin-agent\|.*powershell.exe -NoProfile -NonInteractive -ExecutionPolicy RemoteSigned -File ".*r1.agent.ps1"\|startup=True\|S-1-5-18 ServiceAccount Highest\|limit=00:00:00'
        $got.Log[2] | Should -Match 'staging=False$' -Because 'the plan does not stand there while anything else happens'
        $got.Log[3] | Should -Be 'start staging=False'
        Get-Content "$TestDrive/out-u1.txt" | Should -Be 'S3CRET'
        Test-Path "$root.done" | Should -BeTrue
        Test-Path $staging | Should -BeFalse
        @(Get-ChildItem "$root.*" | Where-Object Name -Match '\.[0-9a-f]{32}$') | Should -BeNullOrEmpty -Because 'the folder got its name'
        [IO.File]::ReadAllText("$root/agent.ps1") | Should -Be $agent
        Get-Content -Raw "$root/plan.json" | Should -Not -Match 'steps'
    }
    It 'does nothing at the next boot, and brings no secret back' {
        $root = "$TestDrive/r1"
        $got = Invoke-Loader (New-Staging 'u1' 'a') $root
        $got.Text | Should -Be 'CAPWIN uid=u1 state=Succeeded phase=one reason='
        $got.Log | Should -BeNullOrEmpty
        Get-Content -Raw "$root/plan.json" | Should -Not -Match 'steps'
        Test-Path "$TestDrive/capwin-a" | Should -BeFalse
    }
    It 'begins anew for another machine' {
        $root = "$TestDrive/r1"
        $got = Invoke-Loader (New-Staging 'u2' 'b') $root
        $got.Text | Should -Be 'CAPWIN uid=u2 state=Succeeded phase=one reason='
        $got.Log[0] | Should -Be 'stop staging=True'
        (Get-Content -Raw "$root/state.json" | ConvertFrom-Json).uid | Should -Be 'u2'
    }
    It 'begins anew where a user of Windows has made the folder: <name>' -ForEach @(
        @{ name = 'their own'; access = 'O:S-1-5-21-1-2-3-1001G:DUD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)' }
        @{ name = 'open'; access = 'O:BAG:SYD:AI(A;OICI;FA;;;SY)(A;OICIID;FA;;;BU)' }
    ) {
        $root = "$TestDrive/r2"
        $null = New-Item -ItemType Directory -Force $root
        Set-Content "$root/plan.json" '{"version":1,"machine":{"uid":"u5"}}'
        Set-Content "$root/agent.ps1" 'throw "not ours"'
        $got = Invoke-Loader (New-Staging 'u5' 'h') $root 'run' $access
        $got.Text | Should -Be 'CAPWIN uid=u5 state=Succeeded phase=one reason='
        $got.Log[1] | Should -Match '^access root=True O:BAD:PAI'
        Get-Content -Raw "$root/agent.ps1" | Should -Not -Match 'not ours'
    }
    It 'begins anew where what is kept is <name>' -ForEach @(
        @{ name = 'damaged'; text = '{"version":1,"mach' }, @{ name = 'of no machine'; text = '{"version":1,"machine":null}' }
    ) {
        $root = "$TestDrive/r4"
        $null = New-Item -ItemType Directory -Force $root
        Set-Content "$root/plan.json" $text
        (Invoke-Loader (New-Staging 'u6' 'i') $root).Text | Should -Be 'CAPWIN uid=u6 state=Succeeded phase=one reason='
        Remove-Item -Recurse $root
    }
    It 'writes the files anew' {
        $staging = New-Staging 'u7' 'j'
        chmod 0444 "$staging/plan.json" "$staging/agent.ps1"
        $null = Invoke-Loader $staging "$TestDrive/r6" 'idle'
        (Get-Item "$TestDrive/r6/agent.ps1").UnixMode | Should -Match '^-rw' -Because 'a file that is moved would keep its access'
        Test-Path $staging | Should -BeFalse
    }
    It 'waits no longer than the plan says, with its own folder gone' {
        $root = "$TestDrive/r3"
        $clock = [Diagnostics.Stopwatch]::StartNew()
        $got = Invoke-Loader (New-Staging 'u3' 'c' 2) $root 'idle'
        $got.Text | Should -Be 'CAPWIN uid=u3 state=Running phase= reason='
        $got.Code | Should -Be 0
        $clock.Elapsed.TotalSeconds | Should -BeLessThan 15
        $got.Log[-1] | Should -Be 'start staging=False'
    }
    It 'waits <least> s and less than <most> s: <state> after <elapsed> s of 30, hold is <hold>' -ForEach @(
        @{ state = 'Failed'; elapsed = 20; hold = $true; least = 9; most = 25 }
        @{ state = 'Rebooting'; elapsed = 20; hold = $true; least = 9; most = 25 }
        @{ state = 'Running'; elapsed = 20; hold = $false; least = 9; most = 25 }
        @{ state = 'Succeeded'; elapsed = 5; hold = $true; least = 0; most = 20 }
        @{ state = 'Failed'; elapsed = 5; hold = $false; least = 0; most = 20 }
        @{ state = 'Rebooting'; elapsed = 5; hold = $false; least = 0; most = 20 }
        @{ state = 'Running'; elapsed = 40; hold = $true; least = 0; most = 20 }
    ) {
        $root = "$TestDrive/r8-$state-$elapsed-$hold"
        $null = New-Item -ItemType Directory -Force $root
        Set-Content "$root/plan.json" '{"version":1,"machine":{"uid":"u9"}}'
        Set-Content "$root/state.json" (ConvertTo-Json @{ uid = 'u9'; state = $state; phaseName = 'join'; reason = 'r'; elapsed = $elapsed })
        $staging = New-Staging 'u9' 'l' 30 -Hold:$hold
        $clock = [Diagnostics.Stopwatch]::StartNew()
        $got = Invoke-Loader $staging $root 'idle'
        $got.Text | Should -Be "CAPWIN uid=u9 state=$state phase=join reason=r"
        $got.Code | Should -Be 0
        $clock.Elapsed.TotalSeconds | Should -BeGreaterOrEqual $least
        $clock.Elapsed.TotalSeconds | Should -BeLessThan $most
        @($got.Log -like 'start*').Count | Should -Be ([int]($state -in 'Running', 'Rebooting'))
    }
    It 'goes on with a task that was not started' {
        $root = "$TestDrive/r3"
        $got = Invoke-Loader (New-Staging 'u3' 'c' 20) $root
        $got.Text | Should -Be 'CAPWIN uid=u3 state=Succeeded phase=one reason='
        $got.Log | Should -Contain 'start staging=False'
        $got.Log | Should -Not -Contain 'stop staging=True'
    }
    It 'ends with 1 and a word, and leaves nothing, for a plan that is <name>' -ForEach @(
        @{ name = 'damaged'; text = '{"redact":["S3CRET"' }, @{ name = 'not a plan'; text = '[]' }, @{ name = 'of no machine'; text = '{"machine":null}' }
    ) {
        $staging = New-Staging 'u4' 'd'
        Set-Content "$staging/plan.json" $text
        $got = Invoke-Loader $staging "$TestDrive/r5" 'idle'
        $got.Code | Should -Be 1
        $got.Text | Should -Match '^CAPWIN state=Failed phase=loader reason=LoaderFailed'
        $got.Text | Should -Not -Match 'S3CRET'
        Test-Path $staging | Should -BeFalse
        Test-Path "$TestDrive/r5" | Should -BeFalse
    }
    It 'ends with 1 and a word where the agent beside it is damaged, and leaves its folder to the next command' {
        $staging = New-Staging 'u10' 'm'
        Set-Content "$staging/agent.ps1" 'function {'
        $got = Invoke-Loader $staging "$TestDrive/r9" 'idle'
        $got.Code | Should -Be 1
        $got.Text | Should -Match '(?s)^CAPWIN state=Failed phase=loader reason=LoaderFailed.*CAPWIN the folder of the loader is in use'
        Test-Path "$TestDrive/r9" | Should -BeFalse
    }
    It 'removes no folder that cloudbase-init has not made' {
        $staging = New-Staging 'u8' 'k'
        Rename-Item $staging 'copy'
        (Invoke-Loader "$TestDrive/copy" "$TestDrive/r7" 'idle').Code | Should -Be 0
        Test-Path "$TestDrive/copy/loader.ps1" | Should -BeTrue
    }
}
