# What a node tells, logs and packs has no secret, however a program has written it.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

BeforeAll {
    $script:Here = (Resolve-Path "$PSScriptRoot/../../../bootstrap/scripts").Path
    $null = New-Item -ItemType Directory -Force "$TestDrive/root"
    . "$Here/agent.ps1" -Root "$TestDrive/root" -NoRun
    . "$Here/steps.ps1"
    function New-State([string]$Secret = '', [string[]]$Redact = @('s3cret value')) {
        $Agent.Plan = @{ redact = $Redact; deadlineSeconds = 600 }
        $Agent.State = @{
            warnings = @(); facts = @{}; phase = 0; step = 0; tries = 1; attempts = 0; phases = 1; phaseName = 'p'; stepName = 's'
            uid = 'u'; state = 'Running'; reason = ''; message = ''; exitCode = 0; reboots = 0; lastLines = @(); durations = @{}
            machine = @{ osBuild = '20348'; osUbr = '1'; memoryMiB = '1'; cpus = '1' }
        }
        Import-Secret @(@{ steps = @(@{ do = 'file'; name = 'f'; path = 'x'; text = $Secret; secret = $true }) })
    }
    function Read-Zip([string]$Path) {
        $zip = [IO.Compression.ZipFile]::OpenRead($Path)
        $texts = @{}
        try {
            foreach ($entry in $zip.Entries) {
                $reader = [IO.StreamReader]::new($entry.Open())
                $texts[[IO.Path]::GetFileName($entry.FullName)] = $reader.ReadToEnd()
            }
        }
        finally { $zip.Dispose() }
        $texts
    }
}

Describe 'a text that is told' {
    BeforeEach { New-State "user`r`n key: correct horse`r`n" }
    It 'has no exact secret and no token, and is ASCII' {
        $got = Protect-Text "a s3cret value b abcdef.0123456789abcdef`r`n$([char]0xe9)$([char]27)[1m" 200
        $got | Should -Not -Match 's3cret|abcdef\.'
        $got | Should -Match '^[\x20-\x7e]*$'
    }
    It 'is ASCII in a language where <name> is a letter of it' -ForEach @(
        @{ name = 'the Kelvin sign'; code = 0x212a }, @{ name = 'the dotted I'; code = 0x130 }, @{ name = 'the dotless i'; code = 0x131 }
    ) {
        $was = [Threading.Thread]::CurrentThread.CurrentCulture
        try {
            [Threading.Thread]::CurrentThread.CurrentCulture = [Globalization.CultureInfo]'tr-TR'
            Protect-Text "a$([char]$code)b" 9 | Should -BeExactly 'a b'
        }
        finally { [Threading.Thread]::CurrentThread.CurrentCulture = $was }
    }
    It 'has no part of a secret that the limit of a line would cut' {
        (Get-LastLine (('x' * 195) + 's3cret value')) -join '' | Should -Not -Match 's3c'
    }
    It 'has <want> for <said>' -ForEach @(
        @{ said = 'bad key: correct horse!'; want = 'bad [redacted]!' }
        @{ said = "bad key: corr`r`n  ect horse!"; want = 'bad [redacted]!' }
        @{ said = "bad key:`0 c`0o`0rrect horse!"; want = 'bad [redacted]!' }
        @{ said = 'user'; want = 'user' }
    ) { Protect-Text $said 200 | Should -BeExactly $want }
    It 'has nothing of the longer of two secrets, one of which is a part of the other' {
        New-State '' @('horse-42', 'correct-horse-42-battery')
        Protect-Text 'the correct-horse-42-battery' 200 | Should -BeExactly 'the [redacted]'
        New-State 'password: correct-horse-42' @('horse-42')
        Protect-Text 'the password: correct-horse-42' 200 | Should -BeExactly 'the [redacted]'
        New-State '' @('4', '42a')
        Protect-Text 'is 42a' 200 | Should -BeExactly 'is [redacted]'
    }
    It 'has no line in which PowerShell shows what failed, also without a secret file' {
        New-State
        Get-LastLine "+ a.exe --key=corr ...`n    + CategoryInfo : x`n  CategoryInfo : y`nfailed" | Should -Be 'failed'
    }
    It 'has nothing of a secret that is not ASCII, written as <name>' -ForEach @(
        @{ name = 'question marks'; said = 'bad p?ssw?rd-2026!' }, @{ name = 'two of them'; said = 'bad p??ssw??rd-2026!' }
        @{ name = 'another code page'; said = "bad p$([char]0x251c)$([char]0xf1)ssw$([char]0x251c)$([char]0xc2)rd-2026!" }
        @{ name = 'it is'; said = "bad p$([char]0xe4)ssw$([char]0xf6)rd-2026!" }
    ) {
        New-State "p$([char]0xe4)ssw$([char]0xf6)rd-2026"
        Protect-Text $said 200 | Should -BeExactly 'bad [redacted]!'
    }
    It 'begins behind the line that was cut, in the end of a long output' {
        $stream = [IO.MemoryStream]::new([Text.Encoding]::UTF8.GetBytes("key: correct horse`nlast"))
        Read-End $stream 12 | Should -BeExactly "`nlast"
        Read-End $stream 100 | Should -BeExactly "key: correct horse`nlast"
    }
    It 'takes no longer for many lines' {
        $lines = @(foreach ($i in 1..20000) { "line $i of a long secret file" })
        $clock = [Diagnostics.Stopwatch]::StartNew()
        New-State ($lines -join "`n")
        $clock.Elapsed.TotalSeconds | Should -BeLessThan 10
        @($Agent.Secrets).Count | Should -Be 20001 -Because 'the text to redact is one more'
    }
}

Describe 'the report' {
    BeforeEach { New-State }
    It 'is below 16 KiB and ASCII, whatever is in it' {
        $Agent.State['lastLines'] = [string[]]@(1..20 | ForEach-Object { '"' * 200 })
        $Agent.State['warnings'] = [string[]]@(1..20 | ForEach-Object { '\' * 300 })
        $Agent.State['message'] = '"' * 1000
        foreach ($name in 'stepName', 'phaseName', 'reason') { $Agent.State[$name] = "$([char]0xe9)`"" * 2500 }
        $Agent.State['facts']['windowsUpdated'] = '"' * 9000
        $json = Get-Report
        $json.Length | Should -BeLessOrEqual 16384
        $json | Should -Match '^[\x20-\x7e]*$'
        $null = $json | ConvertFrom-Json
    }
    It 'counts no phase more than there are, on the console too' {
        $Agent.State['phase'] = 1
        (Get-Report | ConvertFrom-Json).phase.index | Should -Be 1
        $was = [Console]::Out
        $text = [IO.StringWriter]::new()
        try { [Console]::SetOut($text); Send-ConsoleReport '' } finally { [Console]::SetOut($was) }
        $text.ToString() | Should -Match ' phase=1/1 '
    }
}

Describe 'the log of the agent' {
    It 'has no secret' {
        New-State
        Add-Warning 'a s3cret value'
        Write-AgentLog 'output: s3cret value'
        $log = Get-Content -Raw "$TestDrive/root/agent.log"
        $log | Should -Match 'output: \[redacted\]'
        $log | Should -Not -Match 's3cret'
    }
}

Describe 'the zip of logs' {
    BeforeAll {
        New-State "key: correct horse battery"
        $logs = "$TestDrive/logs"
        $null = New-Item -ItemType Directory -Force $logs
        Set-Content -Path "$logs/a.log" -Value 'tok abcdef.0123456789abcdef s3cret value'
        Set-Content -Path "$logs/b.log" -Value "x`n+ `$key = 'correct hor ...`nthe key: correct`n   horse battery`nend"
        [IO.File]::WriteAllText("$logs/wide.log", "begin`r`nkey: correct horse battery`r`n", [Text.UnicodeEncoding]::new($false, $false))
        [IO.File]::WriteAllText("$logs/marked.log", "begin`r`nkey: correct horse battery`r`n", [Text.Encoding]::Unicode)
        Set-Content -Path "$logs/01-02-join.quiet.out.log" -Value 'what only administrators may read'
        Set-Content -Path "$logs/big.log" -Value ('x' * 1500KB)
        Set-Content -Path "$logs/big2.log" -Value ('y' * 1500KB)
        Set-Content -Path "$logs/tail.log" -Value ("key: correct horse battery" + ('.' * (2MB - 12)) + "`nlast")
        foreach ($i in 1, 2) { Invoke-CollectLogsStep @{ path = "$logs/l.zip"; patterns = @("$logs/*"); maxMiB = 2 } }
        $script:Zip = Read-Zip "$logs/l.zip"
    }
    It 'has what fits, and neither itself nor what is quiet' {
        @($Zip.Keys | Sort-Object) -join ' ' -replace 'big2', 'big' | Should -Be 'a.log b.log big.log marked.log tail.log wide.log'
        @(Get-ChildItem "$TestDrive/logs" -Filter *.capwin-new) | Should -BeNullOrEmpty
        @($Agent.State['warnings']) | Should -BeNullOrEmpty
    }
    It 'has no secret, and no line that may be a part of one' {
        $Zip['a.log'] | Should -Not -Match 's3cret|abcdef\.'
        $Zip['b.log'] | Should -BeExactly "x`nthe [redacted]`nend`n"
        foreach ($name in 'wide.log', 'marked.log') { $Zip[$name] | Should -BeExactly "begin`n[redacted]`n" }
        $Zip['tail.log'] | Should -BeExactly "`nlast`n"
    }
    It 'stays what it was, when another cannot be written' {
        $before = (Get-FileHash "$TestDrive/logs/l.zip").Hash
        function Invoke-Program { throw 'no wevtutil' }
        { Invoke-CollectLogsStep @{ path = "$TestDrive/logs/l.zip"; events = @('System') } } | Should -Throw '*no wevtutil*'
        (Get-FileHash "$TestDrive/logs/l.zip").Hash | Should -Be $before
    }
}

Describe 'Windows PowerShell' {
    It 'is told not to log what goes through the commands' {
        (Get-Module Microsoft.PowerShell.Utility).LogPipelineExecutionDetails | Should -BeFalse
    }
    It 'makes passwords of 68 characters that differ' {
        $passwords = (Get-RandomPassword), (Get-RandomPassword)
        $plain = foreach ($one in $passwords) { $one.Length | Should -Be 68; [Net.NetworkCredential]::new('', $one).Password }
        $plain[0] | Should -Not -Be $plain[1]
    }
}
