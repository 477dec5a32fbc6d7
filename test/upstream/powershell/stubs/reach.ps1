# What answers: servers, pipes, the host.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

# True, false, or the second of the clock from which on it answers.
function Test-World($Value) {
    if ($Value -is [bool]) { return $Value }
    $null -ne $Value -and $World.clock -ge [int]$Value
}

function Test-TlsServer([string]$Server, [int]$Port, $Step) {
    Enter-Stub 'Test-TlsServer'
    $null = $Step
    Test-World $World.tls["${Server}:$Port"]
}

function Get-ClockOffset([string]$Server, [int]$Port, $Step) {
    Enter-Stub 'Get-ClockOffset'
    if (-not $Step['insecure']) { throw 'a wrong clock takes every certificate for one that is not valid' }
    $clock = $World.clocks["${Server}:$Port"]
    if (-not $clock) { return }
    if ($clock['until'] -and $World.clock -ge $clock['until']) { [long]0 } else { [long]$clock['ahead'] }
}

function Test-Pipe([string]$Name) { Enter-Stub 'Test-Pipe'; $Name -in $World.pipes }

# 5.1 hands a page to Internet Explorer's parser, which no first run has set up for SYSTEM.
function Invoke-WebRequest {
    [CmdletBinding()]
    param([switch]$UseBasicParsing, [string]$Method = 'Get', [string]$Uri, $Headers, [int]$TimeoutSec, [string]$ContentType, [string]$Body)
    Enter-Stub 'Invoke-WebRequest'
    $null = $Headers, $TimeoutSec, $ContentType
    if (-not $UseBasicParsing) {
        throw ("The response content cannot be parsed because the Internet Explorer engine is not available, or Internet Explorer's " +
            'first-launch configuration is not complete.')
    }
    if ($Method -ne 'Post') { throw 'The remote server returned an error: (404) Not Found.' }
    $World.wire = @($World.wire) + $Body
    Add-Effect "post $Uri $(($Body | ConvertFrom-Json).details.description)"
    [pscustomobject]@{ StatusCode = 200 }
}
