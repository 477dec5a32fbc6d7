# Programs, for real: exit codes, streams, time limits, quoting.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

BeforeAll {
    . "$PSScriptRoot/real.ps1"
    # The programs of these tests are on PATH, where the agent does not look.
    function Find-Program([string]$Name) { $Name }
    # On Windows taskkill ends the tree; here a program of that name does the same for the test.
    $null = New-Item -ItemType Directory -Force -Path "$TestDrive/bin"
    $kill = '#!/bin/sh', 'for c in $(ps -o pid= --ppid $2); do kill -9 $c; done', 'kill -9 $2', ''
    [IO.File]::WriteAllText("$TestDrive/bin/taskkill.exe", $kill -join "`n")
    chmod +x "$TestDrive/bin/taskkill.exe"
    $env:PATH = "$TestDrive/bin:$env:PATH"
    # Takes 5 s, while the others run.
    $script:Grandchild = Start-Case {
        function Find-Program([string]$Name) { $Name }
        $clock = [Diagnostics.Stopwatch]::StartNew()
        $done = Invoke-Program @('sh', '-c', 'echo done; sleep 40 & exit 0') 60
        @{ Done = $done; Seconds = $clock.Elapsed.TotalSeconds }
    }
    function New-RandomText($Random) {
        $alphabet = [char[]]' "\\\abc''&|<>^%!;,()$`*?{}=/'
        -join @(for ($left = $Random.Next(0, 9); $left -gt 0; $left--) { $alphabet[$Random.Next($alphabet.Length)] })
    }
    function Invoke-Shell([string]$Text, [int]$Limit = 60) { Invoke-Program @('sh', '-c', $Text) $Limit }
}

Describe 'programs' {
    It 'gives exit code and both streams' {
        $done = Invoke-Shell 'echo out; echo err >&2; exit 3'
        $done.ExitCode | Should -Be 3
        $done.Text | Should -Match '(?s)out.*err'
    }
    It 'is not blocked by full pipes' {
        $done = Invoke-Shell 'i=0; while [ $i -lt 20000 ]; do echo outoutoutoutoutoutout; echo errerrerrerrerrerr >&2; i=$((i+1)); done'
        $done.ExitCode | Should -Be 0
        $done.Text.Length | Should -BeGreaterThan 500KB
    }
    It 'ends the tree at the time limit' {
        $clock = [Diagnostics.Stopwatch]::StartNew()
        $done = Invoke-Shell "echo begun; sleep 313.$PID & wait" 1
        $done.TimedOut | Should -BeTrue
        $done.Text | Should -Match 'begun'
        $clock.Elapsed.TotalSeconds | Should -BeLessThan 9
        # Silent: that none is there is what is wanted.
        @(Get-Process -Name sleep -ErrorAction SilentlyContinue | Where-Object { $_.CommandLine -match "313.$PID" }).Count | Should -Be 0
    }
    It 'gives a program that asks an end of input' { (Invoke-Shell 'read x; echo "got:$x"' 10).Text | Should -Match 'got:' }
    It 'sets variables and directory' {
        $done = Invoke-Program @('sh', '-c', 'echo $A; pwd') 10 '' @{ A = 'v w' } $TestDrive
        $done.Text | Should -Match "(?s)v w.*$([regex]::Escape((Split-Path -Leaf $TestDrive)))"
    }
    It 'fails for a program that is not there' { { Invoke-Program @('no-such-program') } | Should -Throw }
    It 'writes logs while it runs, both streams' {
        $null = Invoke-Program @('sh', '-c', 'echo o; echo e >&2') 10 "$TestDrive/logs/x"
        Get-Content "$TestDrive/logs/x.out.log" | Should -Be 'o'
        Get-Content "$TestDrive/logs/x.err.log" | Should -Be 'e'
    }
    It 'hands arguments over unchanged: 300 random ones' {
        $random = New-Object Random 7
        foreach ($round in 1..30) {
            $argv = @(foreach ($at in 1..10) { New-RandomText $random })
            $done = Invoke-Program (@('sh', '-c', 'for a; do printf "[%s]\n" "$a"; done', 'sh') + $argv)
            $done.Text.TrimEnd("`n") | Should -BeExactly (@($argv | ForEach-Object { "[$_]" }) -join "`n") -Because "round $round"
        }
    }
    It 'takes the tail of a long output' {
        $lines = @(Get-LastLine (Invoke-Shell 'i=0; while [ $i -lt 40 ]; do echo line $i; i=$((i+1)); done').Text)
        $lines.Count | Should -Be 20
        $lines[-1] | Should -Be 'line 39'
    }
    It 'does not wait for a grandchild that keeps the pipe' {
        $got = Receive-Case $Grandchild
        $got.Done.ExitCode | Should -Be 0
        $got.Done.Text | Should -Match 'done'
        $got.Seconds | Should -BeLessThan 20
    }
}

Describe 'quoting by CommandLineToArgvW' {
    It '<In> -> <Out>' -ForEach @(
        @{ In = 'a'; Out = 'a' }, @{ In = ''; Out = '""' }, @{ In = 'a b'; Out = '"a b"' }, @{ In = 'C:\a b\'; Out = '"C:\a b\\"' }
        @{ In = 'C:\a\'; Out = 'C:\a\' }, @{ In = 'say "x"'; Out = '"say \"x\""' }, @{ In = 'a\"b'; Out = '"a\\\"b"' }
        @{ In = '\\srv\share x'; Out = '"\\srv\share x"' }, @{ In = "t`tb"; Out = "`"t`tb`"" }
    ) { Join-Argument @($In) | Should -BeExactly $Out }
}
