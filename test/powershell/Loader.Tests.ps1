# Go's user data -> loader -> task -> agent, with the Windows commands recorded.
BeforeAll {
    . "$PSScriptRoot/world.ps1"
    $script:Shell = (Get-Process -Id $PID).Path
    function New-UserData([string]$Uid, [string]$Name, [int]$Wait = 20) {
        $b64 = [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes('S3CRET'))
        $plan = @{ version = 1; waitSeconds = $Wait; machine = @{ uid = $Uid; name = 'm'; node = 'n' }; report = @(); redact = @('S3CRET')
            phases = @(@{ name = 'one'; steps = @(@{ do = 'file'; name = 'f'; path = "$TestDrive/out-$Uid.txt"; content = $b64 }, @{ do = 'report'; name = 'r' }) })
        }
        Set-Content "$TestDrive/$Name.json" (ConvertTo-Json $plan -Depth 9)
        & go run -C $PSScriptRoot ./userdata "$TestDrive/$Name.json" "$TestDrive/$Name.ps1"
        if ($LASTEXITCODE) { throw "user data: exit code $LASTEXITCODE" }
        "$TestDrive/$Name.ps1"
    }
    # Runs user data in a process where the commands of Windows write to a log; the "task" starts the unpacked agent.
    function Invoke-UserData([string]$Script, [string]$Root, [string]$Task = 'run') {
        $driver = @"
`$Log = '$Root.log'
function Get-Acl(`$LiteralPath) { [pscustomobject]@{ Sddl = '' } | Add-Member ScriptMethod SetSecurityDescriptorSddlForm { param(`$s, `$what) `$this.Sddl = `$s } -PassThru }
function Set-Acl(`$LiteralPath, `$AclObject) { Add-Content `$Log "acl `$(@(Get-ChildItem `$LiteralPath).Count) `$(`$AclObject.Sddl)" }
function Stop-ScheduledTask { [CmdletBinding()] param(`$TaskName) Add-Content `$Log 'stop' }
function New-ScheduledTaskAction(`$Execute, `$Argument) { "`$Execute `$Argument" }
function New-ScheduledTaskTrigger([switch]`$AtStartup) { "startup=`$AtStartup" }
function New-ScheduledTaskPrincipal(`$UserId, `$LogonType, `$RunLevel) { "`$UserId `$LogonType `$RunLevel" }
function New-ScheduledTaskSettingsSet([timespan]`$ExecutionTimeLimit, `$Priority, `$MultipleInstances, [switch]`$AllowStartIfOnBatteries, [switch]`$DontStopIfGoingOnBatteries, `$RestartCount, `$RestartInterval) { "limit=`$ExecutionTimeLimit" }
function Register-ScheduledTask(`$TaskName, [switch]`$Force, `$Action, `$Trigger, `$Principal, `$Settings) { Add-Content `$Log "register `$TaskName|`$Action|`$Trigger|`$Principal|`$Settings" }
function Start-ScheduledTask(`$TaskName) {
    Add-Content `$Log 'start'
    if ('$Task' -eq 'run') { Start-Process '$Shell' -ArgumentList '-NoProfile', '-File', '$Root.task.ps1' -RedirectStandardOutput '$Root.o' -RedirectStandardError '$Root.e' }
}
& '$Script' -Root '$Root'
exit `$LASTEXITCODE
"@
        Set-Content "$Root.task.ps1" "`$World = @{ base = '$TestDrive/base' }; . '$Root/agent.ps1' -Root '$Root' -Sentinel '$Root.done' -NoRun; . '$PSScriptRoot/stubs.ps1'; Invoke-Agent"
        Set-Content "$Root.driver.ps1" $driver
        $text = & $Shell -NoProfile -File "$Root.driver.ps1"
        @{ Text = @($text) -join "`n"; Code = $LASTEXITCODE; Log = @(if (Test-Path "$Root.log") { Get-Content "$Root.log" }) }
    }
}

Describe 'loader' {
    It 'unpacks, registers, starts, waits, tells, and holds no secret in its output' {
        $root = "$TestDrive/r1"
        $got = Invoke-UserData (New-UserData 'u1' 'a') $root
        $got.Text | Should -Be 'CAPWIN uid=u1 state=Succeeded phase=one reason='
        $got.Code | Should -Be 0
        $got.Log[1] | Should -Be 'acl 0 O:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)' -Because 'access is set while the folder is empty'
        $got.Log[2] | Should -Match 'register capwin-agent\|.*powershell.exe -NoProfile -NonInteractive -ExecutionPolicy Bypass -File ".*r1.agent.ps1"\|startup=True\|S-1-5-18 ServiceAccount Highest\|limit=00:00:00'
        $got.Log[3] | Should -Be 'start'
        Get-Content "$TestDrive/out-u1.txt" | Should -Be 'S3CRET'
        Test-Path "$root.done" | Should -BeTrue
        Get-Content -Raw "$root/plan.json" | Should -Not -Match 'steps'
    }
    It 'does nothing at the next boot, and brings no secret back' {
        $root = "$TestDrive/r1"
        Remove-Item "$root.log"
        $got = Invoke-UserData "$TestDrive/a.ps1" $root
        $got.Text | Should -Be 'CAPWIN uid=u1 state=Succeeded phase=one reason='
        $got.Log | Should -BeNullOrEmpty
        Get-Content -Raw "$root/plan.json" | Should -Not -Match 'steps'
    }
    It 'begins anew for another machine' {
        $root = "$TestDrive/r1"
        $got = Invoke-UserData (New-UserData 'u2' 'b') $root
        $got.Text | Should -Be 'CAPWIN uid=u2 state=Succeeded phase=one reason='
        $got.Log[0] | Should -Be 'stop'
        (Get-Content -Raw "$root/state.json" | ConvertFrom-Json).uid | Should -Be 'u2'
    }
    It 'waits no longer than the plan says' {
        $root = "$TestDrive/r3"
        $clock = [Diagnostics.Stopwatch]::StartNew()
        $got = Invoke-UserData (New-UserData 'u3' 'c' 2) $root 'idle'
        $got.Text | Should -Be 'CAPWIN uid=u3 state=Running phase= reason='
        $got.Code | Should -Be 0
        $clock.Elapsed.TotalSeconds | Should -BeLessThan 15
    }
    It 'goes on with a task that was not started' {
        $root = "$TestDrive/r3"
        Remove-Item "$root.log"
        $got = Invoke-UserData (New-UserData 'u3' 'c' 20) $root
        $got.Text | Should -Be 'CAPWIN uid=u3 state=Succeeded phase=one reason='
        $got.Log | Should -Contain 'start'
    }
    It 'ends with 1 and a word for a damaged blob' {
        $text = [IO.File]::ReadAllText((New-UserData 'u4' 'd'))
        Set-Content "$TestDrive/e.ps1" ($text -replace "(?s)(planBlob = @'\n).{40}", '$1AAAA')
        $got = Invoke-UserData "$TestDrive/e.ps1" "$TestDrive/r5" 'idle'
        $got.Code | Should -Be 1
        $got.Text | Should -Match '^CAPWIN state=Failed phase=loader reason=LoaderFailed'
        $got.Text | Should -Not -Match 'S3CRET'
    }
    It 'is what cloudbase-init takes: first bytes, ASCII, lines of at most 1000, no MIME words, size' {
        $bytes = [IO.File]::ReadAllBytes("$TestDrive/a.ps1")
        [Text.Encoding]::ASCII.GetString($bytes, 0, 16) | Should -Be "#ps1_sysnative`n#"
        $bytes | Where-Object { $_ -gt 126 } | Should -BeNullOrEmpty
        $lines = [IO.File]::ReadAllLines("$TestDrive/a.ps1")
        ($lines | Measure-Object Length -Maximum).Maximum | Should -BeLessOrEqual 1000
        $lines -join "`n" | Should -Not -Match 'Content-Type: multipart|<powershell>|<script>'
        $bytes.Length | Should -BeLessThan 26000
    }
}
