# What is told, written and collected holds no secret.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

BeforeAll { . "$PSScriptRoot/real.ps1" }

Describe 'secrets' {
    BeforeEach { New-State }
    It 'hides exact strings and tokens, and leaves ASCII' {
        $got = Protect-Text "a s3cret value b abcdef.0123456789abcdef`r`n$([char]0xe9)$([char]27)[1m" 200
        $got | Should -Not -Match 's3cret|abcdef\.'
        $got | Should -Match '^[\x20-\x7e]*$'
    }
    It 'hides a secret that a line limit would cut in two' {
        (Get-LastLine (('x' * 195) + 's3cret value')) -join '' | Should -Not -Match 's3c'
    }
    It 'tells no line of a secret file, however it is broken' {
        $step = @{ do = 'file'; name = 'f'; path = 'x'; text = "user`r`n key: correct horse`r`n"; secret = $true }
        $Agent.Plan['phases'] = @(@{ name = 'p'; steps = @($step) })
        Import-Secret
        Protect-Text 'bad key: correct horse!' 200 | Should -Be 'bad [redacted]!'
        Protect-Text "bad key: corr`r`n  ect horse!" 200 | Should -Be '[redacted]'
        Protect-Text 'user' 200 | Should -Be 'user'
        Get-LastLine "+ a.exe --key=corr ...`nfailed" | Should -Be 'failed'
        $Agent.Secrets = @()
        $Agent.SecretFiles = $false
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
        [IO.File]::WriteAllText("$TestDrive/a.log", 'tok abcdef.0123456789abcdef s3cret value')
        [IO.File]::WriteAllText("$TestDrive/big.log", 'x' * 1500KB)
        [IO.File]::WriteAllText("$TestDrive/big2.log", 'y' * 1500KB)
        Invoke-CollectLogsStep @{ path = "$TestDrive/z/l.zip"; patterns = @("$TestDrive/*.log"); maxMiB = 2 }
        [IO.Compression.ZipFile]::ExtractToDirectory("$TestDrive/z/l.zip", "$TestDrive/z/out")
        $files = @(Get-ChildItem -Recurse -File "$TestDrive/z/out")
        $files.Count | Should -Be 2
        Get-Content -Raw ($files | Where-Object { $_.Name -eq 'a.log' }) | Should -Not -Match 's3cret|abcdef\.'
    }
    It 'makes passwords of 68 characters that differ' {
        $some = (Get-RandomPassword), (Get-RandomPassword)
        $some[0].Length | Should -Be 68
        $plain = foreach ($one in $some) { [Net.NetworkCredential]::new('', $one).Password }
        $plain[0] | Should -Not -Be $plain[1]
    }
}
