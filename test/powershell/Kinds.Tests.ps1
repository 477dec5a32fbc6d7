# The parts that need no Windows, for real: programs, quoting, sockets, TLS, files, redaction, logs.
BeforeAll {
    $script:Here = (Resolve-Path "$PSScriptRoot/../../bootstrap/scripts").Path
    $null = New-Item -ItemType Directory -Force "$TestDrive/root"
    . "$Here/agent.ps1" -Root "$TestDrive/root" -NoRun
    . "$Here/steps.ps1"
    function New-State { $Agent.Plan = @{ redact = @('s3cret value'); deadlineSeconds = 600 }; $Agent.State = @{ warnings = @(); facts = @{}; phase = 0; step = 0; tries = 1; attempts = 0; phases = 1; phaseName = 'p'; stepName = 's'; uid = 'u'; state = 'Running'; reason = ''; message = ''; exitCode = 0; reboots = 0; lastLines = @(); durations = @{} } }
    New-State
    # The programs of these tests are on PATH, where the agent does not look.
    Copy-Item function:Find-Program function:Find-RealProgram
    function Find-Program([string]$Name) { $Name }
    # On Windows taskkill ends the tree; here a program of that name does the same for the test.
    $null = New-Item -ItemType Directory -Force "$TestDrive/bin"
    Set-Content "$TestDrive/bin/taskkill.exe" "#!/bin/sh`nfor c in `$(ps -o pid= --ppid `$2); do kill -9 `$c; done; kill -9 `$2`n"
    if ($IsLinux) { chmod +x "$TestDrive/bin/taskkill.exe"; $env:PATH = "$TestDrive/bin:$env:PATH" }
}

Describe 'programs' -Skip:(-not $IsLinux) {
    It 'gives exit code and both streams' {
        $r = Invoke-Program @('sh', '-c', 'echo out; echo err >&2; exit 3')
        $r.ExitCode | Should -Be 3
        $r.Text | Should -Match '(?s)out.*err'
    }
    It 'is not blocked by full pipes' {
        $r = Invoke-Program @('sh', '-c', 'i=0; while [ $i -lt 20000 ]; do echo outoutoutoutoutoutout; echo errerrerrerrerrerr >&2; i=$((i+1)); done') 60
        $r.ExitCode | Should -Be 0
        $r.Text.Length | Should -BeGreaterThan 500KB
    }
    It 'ends the tree at the time limit' {
        $clock = [Diagnostics.Stopwatch]::StartNew()
        $r = Invoke-Program @('sh', '-c', "echo begun; sleep 313.$PID & wait") 2
        $r.TimedOut | Should -BeTrue
        $r.Text | Should -Match 'begun'
        $clock.Elapsed.TotalSeconds | Should -BeLessThan 9
        @(Get-Process -Name sleep -ErrorAction SilentlyContinue | Where-Object { $_.CommandLine -match "313.$PID" }).Count | Should -Be 0
    }
    It 'does not wait for a grandchild that keeps the pipe' {
        $clock = [Diagnostics.Stopwatch]::StartNew()
        $r = Invoke-Program @('sh', '-c', 'echo done; sleep 40 & exit 0') 60
        $r.ExitCode | Should -Be 0
        $r.Text | Should -Match 'done'
        $clock.Elapsed.TotalSeconds | Should -BeLessThan 20
    }
    It 'gives a program that asks an end of input' { (Invoke-Program @('sh', '-c', 'read x; echo "got:$x"') 10).Text | Should -Match 'got:' }
    It 'sets variables and directory' { (Invoke-Program @('sh', '-c', 'echo $A; pwd') 10 '' @{ A = 'v w' } $TestDrive).Text | Should -Match "(?s)v w.*$([regex]::Escape((Split-Path -Leaf $TestDrive)))" }
    It 'fails for a program that is not there' { { Invoke-Program @('no-such-program') } | Should -Throw }
    It 'writes logs while it runs, both streams' {
        $null = Invoke-Program @('sh', '-c', 'echo o; echo e >&2') 10 "$TestDrive/logs/x"
        Get-Content "$TestDrive/logs/x.out.log" | Should -Be 'o'
        Get-Content "$TestDrive/logs/x.err.log" | Should -Be 'e'
    }
    It 'hands arguments over unchanged: 300 random ones' {
        $random = New-Object Random 7
        $alphabet = [char[]]' "\\\abc''&|<>^%!;,()$`*?{}=/'
        foreach ($round in 1..30) {
            $argv = @(foreach ($i in 1..10) { -join @(for ($k = 0; $k -lt $random.Next(0, 9); $k++) { $alphabet[$random.Next($alphabet.Length)] }) })
            $r = Invoke-Program (@('sh', '-c', 'for a; do printf "[%s]\n" "$a"; done', 'sh') + $argv)
            $r.Text.TrimEnd("`n") | Should -BeExactly (@($argv | ForEach-Object { "[$_]" }) -join "`n")
        }
    }
    It 'takes the tail of a long output' {
        $r = Invoke-Program @('sh', '-c', 'i=0; while [ $i -lt 40 ]; do echo line $i; i=$((i+1)); done')
        $lines = @(Get-LastLine $r.Text)
        $lines.Count | Should -Be 20
        $lines[-1] | Should -Be 'line 39'
    }
}

# The agent as it is packed: one file, which a second thread reads again.
Describe 'what is done aside' {
    BeforeAll {
        $packed = "$TestDrive/packed.ps1"
        $more = "function Invoke-SleepStep(`$Step) { `$Agent.Facts['begun'] = 'yes'; [Threading.Thread]::Sleep(1000 * `$Step['seconds']); Write-Output 'late' | Out-Null; `$Agent.Facts['ended'] = 'yes' }`n" +
        "function Invoke-ThrowStep(`$Step) { Exit-Step `$Step['say'] 'Why' -Final -Text 'seen' -ExitCode 7 }`n" +
        "function Invoke-StrictStep { `$NoSuch }`n" +
        "function Invoke-VariableStep { Write-Fact 'seen' `"`$AdminOnly `$Servicing`" }`n" +
        "function Invoke-LateStep(`$Step) { [Threading.Thread]::Sleep(1000 * `$Step['seconds']); [int]::Parse('late') }`n" +
        "function Invoke-NoteStep(`$Step) { 'output'; Write-Fact 'note' `$Step['say']; `$Agent.Reboot = 'again' }`n"
        [IO.File]::WriteAllText($packed, (Get-Content -Raw "$Here/agent.ps1") + "`n" + $more + (Get-Content -Raw "$Here/steps.ps1"))
        . $packed -Root "$TestDrive/root" -NoRun
        New-State
    }
    It 'shares facts and wishes, and tells nothing else' {
        @(Invoke-Aside 'Invoke-NoteStep' @{ say = 'x' } 20).Count | Should -Be 0
        Get-Fact 'note' | Should -Be 'x'
        $Agent.State['facts']['note'] | Should -Be 'x'
        $Agent.Reboot | Should -Be 'again'
        $Agent.Reboot = ''
    }
    It 'hands over what is thrown as it is' {
        $failure = try { Invoke-Aside 'Invoke-ThrowStep' @{ say = 'no such thing' } 20 } catch { $_.Exception }
        $failure.Message | Should -Be 'no such thing'
        $failure.Data['reason'] | Should -Be 'Why'
        $failure.Data['final'] | Should -BeTrue
        $failure.Data['text'] | Should -Be 'seen'
        $failure.Data['exitCode'] | Should -Be 7
    }
    It 'leaves behind what hangs, ends it before its next command, and goes on' {
        $clock = [Diagnostics.Stopwatch]::StartNew()
        $failure = try { Invoke-Aside 'Invoke-SleepStep' @{ seconds = 6 } 2 } catch { $_.Exception }
        $clock.Elapsed.TotalSeconds | Should -BeLessThan 5
        $failure.Message | Should -Be 'Windows has not answered for 2 s'
        $failure.Data['reason'] | Should -Be 'StepHung'
        $failure.Data['final'] | Should -BeFalse
        Invoke-Aside 'Invoke-NoteStep' @{ say = 'after' } 20
        Get-Fact 'note' | Should -Be 'after'
        [Threading.Thread]::Sleep(6000)
        $Agent.Facts['begun'] | Should -Be 'yes'
        $Agent.Facts.ContainsKey('ended') | Should -BeFalse
        $Agent.Left | Should -BeTrue
    }
    It 'does not blame the next call for what one left behind throws' {
        { Invoke-Aside 'Invoke-LateStep' @{ seconds = 4 } 1 } | Should -Throw '*has not answered*'
        { Invoke-Aside 'Invoke-SleepStep' @{ seconds = 6 } 30 } | Should -Not -Throw
        $Agent.Facts['ended'] | Should -Be 'yes'
        $Agent.Facts.Remove('ended')
    }
    It 'is as strict there as here, and stops at the first error' {
        { Invoke-Aside 'Invoke-StrictStep' @{} 20 } | Should -Throw '*NoSuch*'
        { Invoke-Aside 'Get-Item' '/no/such/path' 20 } | Should -Throw
        { Invoke-Aside 'Invoke-VariableStep' @{} 20 } | Should -Not -Throw
        Get-Fact 'seen' | Should -Be "$AdminOnly $Servicing"
    }
    It 'finds its own file, with no console and no profile, when it is run by -File' {
        $ask = 'if ($PSCommandPath) { $Agent.State = @{ facts = @{} }; Invoke-Aside "Invoke-NoteStep" @{ say = "y" } 20; exit [int]($Agent.Facts["note"] -ne "y") }'
        [IO.File]::WriteAllText("$TestDrive/file.ps1", [IO.File]::ReadAllText("$TestDrive/packed.ps1") + "`n$ask`n")
        & (Get-Process -Id $PID).Path -NoProfile -NonInteractive -File "$TestDrive/file.ps1" -Root "$TestDrive/root" -NoRun
        $LASTEXITCODE | Should -Be 0
    }
    It 'ends the process even if what was left behind never ends' {
        $text = "`$Agent.State = @{ state = 'Running' }; try { Invoke-Aside 'Invoke-SleepStep' @{ seconds = 600 } 1 } catch { }; if (`$Agent.Left) { [Environment]::Exit(0) }"
        Set-Content "$TestDrive/ends.ps1" ". '$TestDrive/packed.ps1' -Root '$TestDrive/root' -NoRun`n$text"
        $clock = [Diagnostics.Stopwatch]::StartNew()
        & (Get-Process -Id $PID).Path -NoProfile -File "$TestDrive/ends.ps1"
        $LASTEXITCODE | Should -Be 0
        $clock.Elapsed.TotalSeconds | Should -BeLessThan 30
    }
}

Describe 'quoting by CommandLineToArgvW' {
    It '<In> -> <Out>' -ForEach @(
        @{ In = 'a'; Out = 'a' }, @{ In = ''; Out = '""' }, @{ In = 'a b'; Out = '"a b"' }, @{ In = 'C:\a b\'; Out = '"C:\a b\\"' }, @{ In = 'C:\a\'; Out = 'C:\a\' }
        @{ In = 'say "x"'; Out = '"say \"x\""' }, @{ In = 'a\"b'; Out = '"a\\\"b"' }, @{ In = '\\srv\share x'; Out = '"\\srv\share x"' }, @{ In = "t`tb"; Out = "`"t`tb`"" }
    ) { Join-Argument @($In) | Should -BeExactly $Out }
}

Describe 'values' {
    It 'compares versions by number' {
        Compare-Version '1.36.10' 'v1.36.9' | Should -Be 1
        Compare-Version 'v1.36' '1.36.0' | Should -Be 0
        Compare-Version '10.0.20348.1' '10.0.20348.2' | Should -Be -1
        Compare-Version '1.37.0-rc.1' '1.37' | Should -Be 0
        Compare-Version '' '1' | Should -Be -1
    }
    It 'keeps lists of one and empty lists' {
        Set-Content "$TestDrive/l.json" '{"one":["a"],"none":[],"deep":{"x":[{"y":["z"]}]},"n":null,"b":false}'
        $t = Read-Json "$TestDrive/l.json"
        , $t['one'] | Should -BeOfType [array]
        $t['one'].Count | Should -Be 1
        $t['none'].Count | Should -Be 0
        $t['deep']['x'][0]['y'][0] | Should -Be 'z'
        $t['b'] | Should -BeFalse
        $t['missing'] | Should -BeNullOrEmpty
    }
    It 'reads nothing from a broken file' { Set-Content "$TestDrive/b.json" '{"a":'; Read-Json "$TestDrive/b.json" | Should -BeNullOrEmpty }
}

Describe 'files' {
    It 'leaves the old or the new content, and no rest' {
        Save-File "$TestDrive/f/a.txt" ([byte[]](1, 2)) ''
        Set-Content "$TestDrive/f/a.txt.0123.capwin-new" 'an end in the middle'
        Save-File "$TestDrive/f/a.txt" ([byte[]](3)) ''
        [IO.File]::ReadAllBytes("$TestDrive/f/a.txt") | Should -Be 3
        @(Get-ChildItem "$TestDrive/f").Count | Should -Be 1
    }
    It 'makes a file with its access, under a name of its own each time' {
        $script:Made = @()
        function New-OwnFile([string]$Path, [string]$Sddl) { $script:Made += "$Path $Sddl"; New-Object IO.FileStream($Path, [IO.FileMode]::CreateNew) }
        Save-File "$TestDrive/f/secret" ([byte[]](1, 2, 3)) 'D:'
        Save-File "$TestDrive/f/secret" ([byte[]](4)) 'D:'
        $Made.Count | Should -Be 2
        $Made[0] | Should -Match 'secret\.[0-9a-f]{32}\.capwin-new D:$'
        $Made[0] | Should -Not -Be $Made[1]
    }
    It 'writes an empty file' {
        Invoke-FileStep @{ path = "$TestDrive/f/empty"; text = '' }
        (Get-Item "$TestDrive/f/empty").Length | Should -Be 0
    }
    It 'refuses a link on the way' -Skip:(-not $IsLinux) {
        $null = New-Item -ItemType Directory -Force "$TestDrive/theirs"
        $null = New-Item -ItemType SymbolicLink -Path "$TestDrive/ours" -Target "$TestDrive/theirs"
        { Assert-NoLink "$TestDrive/ours/a" } | Should -Throw '*a link is in the way: ours*'
        { Assert-NoLink "$TestDrive/theirs/a" } | Should -Not -Throw
    }
    It 'has a folder of its own for what programs unpack' {
        $was = $env:TEMP, $env:TMP
        try { Move-Temp; $env:TEMP | Should -Be (Join-Path $Agent.Root 'temp'); $env:TMP | Should -Be $env:TEMP; Test-Path $env:TEMP | Should -BeTrue }
        finally { $env:TEMP, $env:TMP = $was }
    }
    It 'looks for bare names among the programs of Windows alone' {
        Find-RealProgram '/bin/sh' | Should -Be '/bin/sh'
        { Find-RealProgram 'pwsh' } | Should -Throw
    }
    It 'tries a rename again that was refused, and gives up after 5 s' {
        $null = New-Item -ItemType Directory -Force "$TestDrive/g/a.txt/not-a-file"
        $clock = [Diagnostics.Stopwatch]::StartNew()
        { Save-File "$TestDrive/g/a.txt" ([byte[]](1)) '' } | Should -Throw
        $clock.Elapsed.TotalSeconds | Should -BeGreaterThan 4
        $clock.Elapsed.TotalSeconds | Should -BeLessThan 15
    }
    It 'removes a link, not what it points to' -Skip:(-not $IsLinux) {
        $null = New-Item -ItemType Directory -Force "$TestDrive/target", "$TestDrive/tree"
        Set-Content "$TestDrive/target/keep" 'x'
        $null = New-Item -ItemType SymbolicLink -Path "$TestDrive/tree/link" -Target "$TestDrive/target"
        Clear-Path "$TestDrive/tree"
        Test-Path "$TestDrive/tree" | Should -BeFalse
        Test-Path "$TestDrive/target/keep" | Should -BeTrue
    }
}

Describe 'sockets' -Skip:(-not $IsLinux -or -not (Get-Command openssl -ErrorAction SilentlyContinue)) {
    BeforeAll {
        function Test-Tcp([string]$Server, [int]$Port) { try { (Connect-Tcp $Server $Port).Dispose(); $true } catch { $false } }
        Push-Location $TestDrive
        foreach ($ca in 'good', 'bad') { openssl req -x509 -newkey rsa:2048 -nodes -keyout "$ca.key" -out "$ca.pem" -days 2 -subj "/CN=kubernetes-$ca" 2>$null }
        openssl req -newkey rsa:2048 -nodes -keyout s.key -out s.csr -subj '/CN=kube-apiserver' 2>$null
        openssl x509 -req -in s.csr -CA good.pem -CAkey good.key -CAcreateserial -out s.pem -days 2 2>$null
        $script:Der = @{}
        foreach ($ca in 'good', 'bad') { $Der[$ca] = (Get-Content "$ca.pem" | Where-Object { $_ -notlike '-*' }) -join '' }
        $listener = New-Object Net.Sockets.TcpListener([Net.IPAddress]::Loopback, 0); $listener.Start(); $script:Port = $listener.LocalEndpoint.Port; $listener.Stop()
        $script:Server = Start-Process -PassThru openssl -ArgumentList 's_server', '-accept', $Port, '-cert', 's.pem', '-key', 's.key', '-www', '-quiet', '-tls1_2' -RedirectStandardOutput so -RedirectStandardError se
        for ($i = 0; $i -lt 50 -and -not (Test-Tcp '127.0.0.1' $Port); $i++) { Start-Sleep -Milliseconds 100 }
        Pop-Location
    }
    AfterAll { Stop-Process -Id $script:Server.Id }
    It 'tells why a port is closed' { Test-TlsServer '127.0.0.1' 1 @{ insecure = $true } | Should -BeFalse; $Agent.LastProblem | Should -Match 'refused' }
    It 'trusts the CA of the plan' { Test-TlsServer '127.0.0.1' $Port @{ ca = $Der.good } | Should -BeTrue }
    It 'does not trust another CA' { Test-TlsServer '127.0.0.1' $Port @{ ca = $Der.bad } | Should -BeFalse; $Agent.LastProblem | Should -Match 'another CA' }
    It 'does not trust an unknown CA by itself' { Test-TlsServer '127.0.0.1' $Port @{} | Should -BeFalse }
    It 'asks no certificate when told so' { Test-TlsServer '127.0.0.1' $Port @{ insecure = $true } | Should -BeTrue }
    It 'speaks TLS 1.3 where nothing else is spoken, and 1.2 where 1.3 is not' -ForEach @(@{ Only = '-tls1_3' }, @{ Only = '-tls1_2' }) {
        $listener = New-Object Net.Sockets.TcpListener([Net.IPAddress]::Loopback, 0); $listener.Start(); $port = $listener.LocalEndpoint.Port; $listener.Stop()
        $server = Start-Process -PassThru openssl -WorkingDirectory $TestDrive -ArgumentList 's_server', '-accept', $port, '-cert', 's.pem', '-key', 's.key', '-www', '-quiet', $Only -RedirectStandardOutput "$TestDrive/o13" -RedirectStandardError "$TestDrive/e13"
        try {
            for ($i = 0; $i -lt 50 -and -not (Test-Tcp '127.0.0.1' $port); $i++) { Start-Sleep -Milliseconds 100 }
            Test-TlsServer '127.0.0.1' $port @{ ca = $Der.good } | Should -BeTrue
            Test-TlsServer 'localhost' $port @{ insecure = $true } | Should -BeTrue
            Get-ClockOffset '127.0.0.1' $port @{ insecure = $true } | Should -BeNullOrEmpty
        }
        finally { Stop-Process -Id $server.Id }
    }
    It 'asks before it looks at the certificate' {
        function Test-Issuer { [Threading.Thread]::Sleep(3000); $true }
        Test-TlsServer '127.0.0.1' $Port @{ ca = $Der.good } | Should -BeTrue
    }
    It 'is no error without a server' { Test-TlsServer '127.0.0.1' 1 @{ insecure = $true } | Should -BeFalse }
}

Describe 'what a server says' {
    BeforeAll {
        # A stream in which the answer stands behind the place of the request.
        function New-Answer([string]$Text) {
            $request = "GET /healthz HTTP/1.1`r`nHost: h`r`nConnection: close`r`n`r`n"
            $stream = New-Object IO.MemoryStream
            $bytes = [Text.Encoding]::ASCII.GetBytes(('x' * $request.Length) + $Text)
            $stream.Write($bytes, 0, $bytes.Length)
            $stream.Position = 0
            , $stream
        }
        function Get-Offset([string]$Date) {
            $script:Said = New-Answer "HTTP/1.1 401 Unauthorized`r`nContent-Length: 0`r`n$Date`r`n`r`nDate: Thu, 01 Jan 1970 00:00:00 GMT`r`n"
            function Test-TlsServer { $null = Test-TlsAnswer $script:Said 'h' @{ insecure = $true } }
            Get-ClockOffset 'h' 1 @{ insecure = $true }
        }
    }
    It 'is good for <Status>: <Good>' -ForEach @(
        @{ Status = 'HTTP/1.1 200 OK'; Good = $true }, @{ Status = 'HTTP/1.1 401 Unauthorized'; Good = $true }, @{ Status = 'HTTP/1.0 403 Forbidden'; Good = $true }
        @{ Status = 'HTTP/1.1 503 Service Unavailable'; Good = $false }, @{ Status = 'HTTP/1.1 2000 x'; Good = $false }, @{ Status = ''; Good = $false }
    ) { Test-TlsAnswer (New-Answer "$Status`r`n`r`n") 'h' @{} | Should -Be $Good }
    It 'is of another CA also when the answer is good' {
        function Test-Issuer { $false }
        Test-TlsAnswer (New-Answer "HTTP/1.1 200 OK`r`n`r`n" | Add-Member NoteProperty RemoteCertificate 'c' -PassThru) 'h' @{ ca = 'x' } | Should -BeFalse
        $Agent.LastProblem | Should -Be '(certificate of another CA)'
    }
    It 'measures the clock by the head, and not by the body' {
        $r = [Globalization.CultureInfo]::InvariantCulture
        [Math]::Abs((Get-Offset "Date: $([DateTime]::UtcNow.AddSeconds(-720).ToString('r', $r))") - 720) | Should -BeLessOrEqual 2
        [Math]::Abs((Get-Offset "date:  $([DateTime]::UtcNow.AddDays(1).ToString('r', $r))") + 86400) | Should -BeLessOrEqual 2
    }
    It 'does not take a date that is none for a wrong clock' {
        Get-Offset 'Date: yesterday' | Should -BeNullOrEmpty
        Get-Offset 'X-Date: none' | Should -BeNullOrEmpty
    }
    It 'measures the same in a language with another calendar' {
        $was = [Threading.Thread]::CurrentThread.CurrentCulture
        try {
            [Threading.Thread]::CurrentThread.CurrentCulture = [Globalization.CultureInfo]'th-TH'
            $date = [DateTime]::UtcNow.AddSeconds(-720).ToString('r', [Globalization.CultureInfo]::InvariantCulture)
            [Math]::Abs((Get-Offset "Date: $date") - 720) | Should -BeLessOrEqual 2
        }
        finally { [Threading.Thread]::CurrentThread.CurrentCulture = $was }
    }
}

Describe 'secrets' {
    BeforeEach { New-State }
    It 'hides exact strings and tokens, and leaves ASCII' {
        $got = Protect-Text "a s3cret value b abcdef.0123456789abcdef`r`n$([char]0xe9)`e[1m" 200
        $got | Should -Not -Match 's3cret|abcdef\.'
        $got | Should -Match '^[\x20-\x7e]*$'
    }
    It 'hides a secret that a line limit would cut in two' {
        (Get-LastLine (('x' * 195) + 's3cret value')) -join '' | Should -Not -Match 's3c'
    }
    It 'tells no line of a secret file, however it is broken' {
        $Agent.Plan['phases'] = @(@{ name = 'p'; steps = @(@{ do = 'file'; name = 'f'; path = 'x'; text = "user`r`n key: correct horse`r`n"; secret = $true }) })
        Import-Secret
        Protect-Text 'bad key: correct horse!' 200 | Should -Be 'bad [redacted]!'
        Protect-Text "bad key: corr`r`n  ect horse!" 200 | Should -Be '[redacted]'
        Protect-Text 'user' 200 | Should -Be 'user'
        Get-LastLine "+ a.exe --key=corr ...`nfailed" | Should -Be 'failed'
        $Agent.Secrets = @(); $Agent.SecretFiles = $false
    }
    It 'keeps the report below 16 KiB, whatever the lines are' {
        $Agent.State['lastLines'] = [string[]]@(1..20 | ForEach-Object { '"' * 200 })
        $Agent.State['warnings'] = [string[]]@(1..20 | ForEach-Object { '\' * 300 })
        $Agent.State['message'] = '"' * 1000
        $Agent.Facts = @{ osBuild = '20348'; osUbr = '1'; memoryMiB = '1'; cpus = '1' }
        $json = Get-Report
        $json.Length | Should -BeLessOrEqual 16384
        $json | Should -Match '^[\x20-\x7e]*$'
        $null = $json | ConvertFrom-Json
    }
    It 'writes collected logs redacted and limited' {
        Set-Content "$TestDrive/a.log" 'tok abcdef.0123456789abcdef s3cret value'
        Set-Content "$TestDrive/big.log" ('x' * 1500KB)
        Set-Content "$TestDrive/big2.log" ('y' * 1500KB)
        Invoke-CollectLogsStep @{ path = "$TestDrive/z/l.zip"; patterns = @("$TestDrive/*.log"); maxMiB = 2 }
        Expand-Archive "$TestDrive/z/l.zip" "$TestDrive/z/out"
        $files = @(Get-ChildItem -Recurse -File "$TestDrive/z/out")
        $files.Count | Should -Be 2
        Get-Content -Raw ($files | Where-Object Name -EQ 'a.log') | Should -Not -Match 's3cret|abcdef\.'
    }
    It 'makes passwords of 68 characters that differ' {
        $p = Get-RandomPassword
        $p.Length | Should -Be 68
        $plain = foreach ($s in $p, (Get-RandomPassword)) { [Net.NetworkCredential]::new('', $s).Password }
        $plain[0] | Should -Not -Be $plain[1]
    }
}
