# Go's user data -> loader -> task -> agent.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

BeforeAll {
    $script:LoaderBase = "$TestDrive"
    . "$PSScriptRoot/loading.ps1"
    & go build -C $PSScriptRoot -o "$TestDrive/userdata" ./userdata
    if ($LASTEXITCODE) { throw "go build: exit code $LASTEXITCODE" }
    function Set-Kept([string]$Root, [string]$File, [string]$Text) {
        $null = [IO.Directory]::CreateDirectory($Root)
        [IO.File]::WriteAllText("$Root/$File", $Text)
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
        $access = 'access root=False O:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA) staging=True'
        $got.Log[0] | Should -Be $access -Because 'access is there before the folder'
        $got.Log[1] | Should -Be 'task.register capwin-agent staging=False' -Because 'the plan does not stand there meanwhile'
        $got.Log[2] | Should -Be 'task.start capwin-agent staging=False'
        $command = 'powershell.exe -NoProfile -NonInteractive -ExecutionPolicy RemoteSigned -File ".*r1.agent.ps1"'
        $how = '\|startup=True\|S-1-5-18 ServiceAccount Highest\|limit=00:00:00 priority=4 instances=IgnoreNew battery=True,True'
        $got.Registered | Should -Match "^capwin-agent\|.*$command$how"
        Get-Content "$TestDrive/out-u1.txt" | Should -Be 'S3CRET'
        Test-Path "$root.done" | Should -BeTrue
        Test-Path $staging | Should -BeFalse
        $left = @(Get-ChildItem "$root.*" | Where-Object { $_.Name -match '\.[0-9a-f]{32}$' })
        $left | Should -BeNullOrEmpty -Because 'the folder got its name'
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
    It 'begins anew for another machine, whose task is there' {
        $root = "$TestDrive/r1"
        $got = Invoke-Loader (New-Staging 'u2' 'b') $root
        $got.Text | Should -Be 'CAPWIN uid=u2 state=Succeeded phase=one reason='
        $got.Log[0] | Should -Be 'task.stop capwin-agent staging=True'
        (Get-Content -Raw "$root/state.json" | ConvertFrom-Json).uid | Should -Be 'u2'
    }
    It 'begins anew where a user of Windows has made the folder: <Name>' -ForEach @(
        @{ Name = 'their own'; Access = 'O:S-1-5-21-1-2-3-1001G:DUD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)' }
        @{ Name = 'open'; Access = 'O:BAG:SYD:AI(A;OICI;FA;;;SY)(A;OICIID;FA;;;BU)' }
    ) {
        $root = "$TestDrive/r2"
        Set-Kept $root 'plan.json' '{"version":1,"machine":{"uid":"u5"}}'
        Set-Kept $root 'agent.ps1' 'throw "not ours"'
        $got = Invoke-Loader (New-Staging 'u5' 'h') $root 'run' $Access
        $got.Text | Should -Be 'CAPWIN uid=u5 state=Succeeded phase=one reason='
        @($got.Log -match '^access root=.* O:BAD:PAI').Count | Should -Be 1
        Get-Content -Raw "$root/agent.ps1" | Should -Not -Match 'not ours'
    }
    It 'begins anew where what is kept is <Name>' -ForEach @(
        @{ Name = 'damaged'; Text = '{"version":1,"mach' }, @{ Name = 'of no machine'; Text = '{"version":1,"machine":null}' }
    ) {
        $root = "$TestDrive/r4"
        Set-Kept $root 'plan.json' $Text
        (Invoke-Loader (New-Staging 'u6' 'i') $root).Text | Should -Be 'CAPWIN uid=u6 state=Succeeded phase=one reason='
        Remove-Item -Recurse $root
    }
    It 'writes the files anew' {
        $staging = New-Staging 'u7' 'j' 0
        chmod 0444 "$staging/plan.json" "$staging/agent.ps1"
        $null = Invoke-Loader $staging "$TestDrive/r6" 'idle'
        (Get-Item "$TestDrive/r6/agent.ps1").UnixMode | Should -Match '^-rw' -Because 'a file that is moved would keep its access'
        Test-Path $staging | Should -BeFalse
    }
    It 'waits no longer than the plan says, with its own folder gone' {
        $root = "$TestDrive/r3"
        $clock = [Diagnostics.Stopwatch]::StartNew()
        $got = Invoke-Loader (New-Staging 'u3' 'c' 1) $root 'idle'
        $got.Text | Should -Be 'CAPWIN uid=u3 state=Running phase= reason='
        $got.Code | Should -Be 0
        $clock.Elapsed.TotalSeconds | Should -BeLessThan 15
        $got.Log[-1] | Should -Be 'task.start capwin-agent staging=False'
    }
    It 'waits <Least> s and less than <Most> s: <State> after <Elapsed> s of 30, hold is <Hold>' -ForEach @(
        @{ State = 'Failed'; Elapsed = 29; Hold = $true; Least = 0.9; Most = 15 }
        @{ State = 'Rebooting'; Elapsed = 29; Hold = $true; Least = 0.9; Most = 15 }
        @{ State = 'Running'; Elapsed = 29; Hold = $false; Least = 0.9; Most = 15 }
        @{ State = 'Succeeded'; Elapsed = 5; Hold = $true; Least = 0; Most = 20 }
        @{ State = 'Failed'; Elapsed = 5; Hold = $false; Least = 0; Most = 20 }
        @{ State = 'Rebooting'; Elapsed = 5; Hold = $false; Least = 0; Most = 20 }
        @{ State = 'Running'; Elapsed = 40; Hold = $true; Least = 0; Most = 20 }
    ) {
        $root = "$TestDrive/r8-$State-$Elapsed-$Hold"
        Set-Kept $root 'plan.json' '{"version":1,"machine":{"uid":"u9"}}'
        Set-Kept $root 'state.json' (ConvertTo-Json @{ uid = 'u9'; state = $State; phaseName = 'join'; reason = 'r'; elapsed = $Elapsed })
        $staging = New-Staging 'u9' 'l' 30 -Hold:$Hold
        $clock = [Diagnostics.Stopwatch]::StartNew()
        $got = Invoke-Loader $staging $root 'idle'
        $got.Text | Should -Be "CAPWIN uid=u9 state=$State phase=join reason=r"
        $got.Code | Should -Be 0
        $clock.Elapsed.TotalSeconds | Should -BeGreaterOrEqual $Least
        $clock.Elapsed.TotalSeconds | Should -BeLessThan $Most
        @($got.Log -like 'task.start*').Count | Should -Be ([int]($State -in 'Running', 'Rebooting'))
    }
    It 'goes on with a task that was not started' {
        $root = "$TestDrive/r3"
        $got = Invoke-Loader (New-Staging 'u3' 'c' 20) $root
        $got.Text | Should -Be 'CAPWIN uid=u3 state=Succeeded phase=one reason='
        $got.Log | Should -Contain 'task.start capwin-agent staging=False'
        @($got.Log -like 'task.stop*').Count | Should -Be 0
    }
    It 'ends with 1 and a word, and leaves nothing, for a plan that is <Name>' -ForEach @(
        @{ Name = 'damaged'; Text = '{"redact":["S3CRET"' }, @{ Name = 'not a plan'; Text = '[]' }
        @{ Name = 'of no machine'; Text = '{"machine":null}' }
    ) {
        $staging = New-Staging 'u4' 'd'
        [IO.File]::WriteAllText("$staging/plan.json", $Text)
        $got = Invoke-Loader $staging "$TestDrive/r5" 'idle'
        $got.Code | Should -Be 1
        $got.Text | Should -Match '^CAPWIN state=Failed phase=loader reason=LoaderFailed'
        $got.Text | Should -Not -Match 'S3CRET'
        Test-Path $staging | Should -BeFalse
        Test-Path "$TestDrive/r5" | Should -BeFalse
    }
    It 'ends with 1 and a word where the agent beside it is damaged, and leaves its folder to the next command' {
        $staging = New-Staging 'u10' 'm'
        [IO.File]::WriteAllText("$staging/agent.ps1", 'function {')
        $got = Invoke-Loader $staging "$TestDrive/r9" 'idle'
        $got.Code | Should -Be 1
        $got.Text | Should -Match '(?s)^CAPWIN state=Failed phase=loader reason=LoaderFailed.*CAPWIN the folder of the loader is in use'
        Test-Path "$TestDrive/r9" | Should -BeFalse
    }
    It 'removes no folder that cloudbase-init has not made' {
        $staging = New-Staging 'u8' 'k' 0
        Rename-Item -Path $staging -NewName 'copy'
        (Invoke-Loader "$TestDrive/copy" "$TestDrive/r7" 'idle').Code | Should -Be 0
        Test-Path "$TestDrive/copy/loader.ps1" | Should -BeTrue
    }
    It 'waits for a plan that another holds, and begins nothing anew: that of <Name>' -ForEach @(
        @{ Name = 'the root' }, @{ Name = 'its folder' }
    ) {
        $root = "$TestDrive/held-$Name"
        Set-Kept $root 'plan.json' '{"version":1,"machine":{"uid":"u12"}}'
        Set-Kept $root 'state.json' '{"uid":"u12","state":"Succeeded","phaseName":"join","reason":""}'
        $staging = New-Staging 'u12' "held-$Name"
        $folder = if ($Name -eq 'the root') { $root } else { $staging }
        $moments = @{ held = [IO.File]::Open("$folder/plan.json", 'Open', 'Read', 'None'); count = 0 }
        function Start-Sleep([int]$Seconds, [int]$Milliseconds) {
            $null = $Seconds, $Milliseconds
            if (++$moments.count -eq 20) { $moments.held.Dispose() }
        }
        (Invoke-Loader $staging $root 'idle').Text | Should -Be 'CAPWIN uid=u12 state=Succeeded phase=join reason='
        $moments.count | Should -Be 20
        Get-Content -Raw "$root/plan.json" | Should -Be '{"version":1,"machine":{"uid":"u12"}}'
    }
    It 'ends with 1 and leaves the root alone, when the plan there is held for long: it may be of this machine' {
        $root = "$TestDrive/held"
        Set-Kept $root 'plan.json' '{"version":1,"machine":{"uid":"u13"}}'
        Set-Kept $root 'state.json' '{"uid":"u13","state":"Succeeded"}'
        $staging = New-Staging 'u13' 'held'
        $held = [IO.File]::Open("$root/plan.json", 'Open', 'Read', 'None')
        function Start-Sleep([int]$Seconds, [int]$Milliseconds) { $null = $Seconds, $Milliseconds }
        try { $got = Invoke-Loader $staging $root 'idle' } finally { $held.Dispose() }
        $got.Code | Should -Be 1
        $got.Text | Should -Match '^CAPWIN state=Failed phase=loader reason=LoaderFailed'
        $got.Log | Should -BeNullOrEmpty
        Get-Content -Raw "$root/state.json" | Should -Be '{"uid":"u13","state":"Succeeded"}'
        Test-Path $staging | Should -BeFalse
    }
    It 'tells what the task has done meanwhile, each in a process of its own' {
        $staging = New-Staging 'u11' 'n'
        $text = "`$LoaderBase = '$TestDrive'; . '$PSScriptRoot/loading.ps1'; `$got = Invoke-Loader '$staging' '$TestDrive/r10' 'process'"
        [IO.File]::WriteAllText("$TestDrive/driver.ps1", "$text; `$got.Text; exit `$got.Code")
        & $env:PWSH -NoProfile -NonInteractive -File "$TestDrive/driver.ps1" | Should -Be 'CAPWIN uid=u11 state=Succeeded phase=one reason='
        $LASTEXITCODE | Should -Be 0
        Get-Content "$TestDrive/out-u11.txt" | Should -Be 'S3CRET'
    }
}
