# Sockets and TLS against openssl's server, and what a server says.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

BeforeAll {
    . "$PSScriptRoot/real.ps1"
    function New-Answer([string]$Text) {
        # A stream in which the answer stands behind the place of the request.
        $request = "GET /healthz HTTP/1.1`r`nHost: h`r`nConnection: close`r`n`r`n"
        $stream = New-Object IO.MemoryStream
        $bytes = [Text.Encoding]::ASCII.GetBytes(('x' * $request.Length) + $Text)
        $stream.Write($bytes, 0, $bytes.Length)
        $stream.Position = 0
        , $stream
    }
    function Get-Offset([string]$Date) {
        $body = 'Date: Thu, 01 Jan 1970 00:00:00 GMT'
        $script:Said = New-Answer "HTTP/1.1 401 Unauthorized`r`nContent-Length: 0`r`n$Date`r`n`r`n$body`r`n"
        function Test-TlsServer { $null = Test-TlsAnswer $script:Said 'h' @{ insecure = $true } }
        Get-ClockOffset 'h' 1 @{ insecure = $true }
    }
    function Get-Ahead([string]$Word, [double]$Seconds) {
        $date = [DateTime]::UtcNow.AddSeconds(-$Seconds).ToString('r', [Globalization.CultureInfo]::InvariantCulture)
        Get-Offset "$Word$date"
    }
    function Invoke-Openssl([string[]]$Argv) {
        $done = Invoke-Program (@((Get-Command openssl).Source) + $Argv) 60 '' $null "$TestDrive"
        if ($done.ExitCode) { throw $done.Text }
    }
    # Starts a server and waits until it says that it listens.
    function Start-Server([string]$Only) {
        $listener = New-Object Net.Sockets.TcpListener([Net.IPAddress]::Loopback, 0)
        $listener.Start()
        $port = $listener.LocalEndpoint.Port
        $listener.Stop()
        $start = New-Object Diagnostics.ProcessStartInfo 'openssl'
        $start.Arguments = "s_server -accept $port -cert s.pem -key s.key -www $Only"
        $start.WorkingDirectory = "$TestDrive"
        $start.RedirectStandardOutput = $start.RedirectStandardError = $true
        $process = [Diagnostics.Process]::Start($start)
        $line = ''
        while ($null -ne $line -and $line -notmatch 'ACCEPT') { $line = $process.StandardOutput.ReadLine() }
        @{ Port = $port; Process = $process }
    }
}

# Silent: without openssl these are skipped.
Describe 'sockets' -Skip:(-not (Get-Command openssl -ErrorAction SilentlyContinue)) {
    BeforeAll {
        $key = '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'
        foreach ($ca in 'good', 'bad') {
            Invoke-Openssl (@('req', '-x509', '-keyout', "$ca.key", '-out', "$ca.pem", '-days', '2', '-subj', "/CN=kubernetes-$ca") + $key)
        }
        Invoke-Openssl (@('req', '-keyout', 's.key', '-out', 's.csr', '-subj', '/CN=kube-apiserver') + $key)
        $by = '-CA', 'good.pem', '-CAkey', 'good.key', '-CAcreateserial'
        Invoke-Openssl (@('x509', '-req', '-in', 's.csr', '-out', 's.pem', '-days', '2') + $by)
        $script:Der = @{}
        foreach ($ca in 'good', 'bad') { $Der[$ca] = (Get-Content "$TestDrive/$ca.pem" | Where-Object { $_ -notlike '-*' }) -join '' }
        $script:Server = Start-Server '-tls1_2'
        $script:Port = $Server.Port
    }
    AfterAll { $script:Server.Process.Kill() }
    It 'tells why a port is closed' {
        Test-TlsServer '127.0.0.1' 1 @{ insecure = $true } | Should -BeFalse
        $Agent.LastProblem | Should -Match 'refused'
    }
    It 'trusts the CA of the plan' { Test-TlsServer '127.0.0.1' $Port @{ ca = $Der.good } | Should -BeTrue }
    It 'does not trust another CA' {
        Test-TlsServer '127.0.0.1' $Port @{ ca = $Der.bad } | Should -BeFalse
        $Agent.LastProblem | Should -Match 'another CA'
    }
    It 'does not trust an unknown CA by itself' { Test-TlsServer '127.0.0.1' $Port @{} | Should -BeFalse }
    It 'asks no certificate when told so' { Test-TlsServer '127.0.0.1' $Port @{ insecure = $true } | Should -BeTrue }
    It 'speaks <Only> where nothing else is spoken' -ForEach @(@{ Only = '-tls1_3' }, @{ Only = '-tls1_2' }) {
        $other = Start-Server $Only
        try {
            Test-TlsServer '127.0.0.1' $other.Port @{ ca = $Der.good } | Should -BeTrue
            Test-TlsServer 'localhost' $other.Port @{ insecure = $true } | Should -BeTrue
            Get-ClockOffset '127.0.0.1' $other.Port @{ insecure = $true } | Should -BeNullOrEmpty
        }
        finally { $other.Process.Kill() }
    }
    It 'asks before it looks at the certificate' {
        # The function that looks sees the variables of its caller: the answer is there.
        function Test-Issuer { $script:Before = $status; $true }
        Test-TlsServer '127.0.0.1' $Port @{ ca = $Der.good } | Should -BeTrue
        $Before | Should -Match '^HTTP/1'
    }
}

Describe 'what a server says' {
    It 'is good for <Status>: <Good>' -ForEach @(
        @{ Status = 'HTTP/1.1 200 OK'; Good = $true }, @{ Status = 'HTTP/1.1 401 Unauthorized'; Good = $true }
        @{ Status = 'HTTP/1.0 403 Forbidden'; Good = $true }, @{ Status = 'HTTP/1.1 503 Service Unavailable'; Good = $false }
        @{ Status = 'HTTP/1.1 2000 x'; Good = $false }, @{ Status = ''; Good = $false }
    ) { Test-TlsAnswer (New-Answer "$Status`r`n`r`n") 'h' @{} | Should -Be $Good }
    It 'is of another CA also when the answer is good' {
        function Test-Issuer { $false }
        $answer = New-Answer "HTTP/1.1 200 OK`r`n`r`n" | Add-Member -MemberType NoteProperty -Name RemoteCertificate -Value 'c' -PassThru
        Test-TlsAnswer $answer 'h' @{ ca = 'x' } | Should -BeFalse
        $Agent.LastProblem | Should -Be '(certificate of another CA)'
    }
    It 'measures the clock by the head, and not by the body' {
        [Math]::Abs((Get-Ahead 'Date: ' 720) - 720) | Should -BeLessOrEqual 2
        [Math]::Abs((Get-Ahead 'date:  ' -86400) + 86400) | Should -BeLessOrEqual 2
    }
    It 'does not take a date that is none for a wrong clock' {
        Get-Offset 'Date: yesterday' | Should -BeNullOrEmpty
        Get-Offset 'X-Date: none' | Should -BeNullOrEmpty
    }
    It 'measures the same in a language with another calendar' {
        $was = [Threading.Thread]::CurrentThread.CurrentCulture
        try {
            [Threading.Thread]::CurrentThread.CurrentCulture = [Globalization.CultureInfo]'th-TH'
            [Math]::Abs((Get-Ahead 'Date: ' 720) - 720) | Should -BeLessOrEqual 2
        }
        finally { [Threading.Thread]::CurrentThread.CurrentCulture = $was }
    }
}
