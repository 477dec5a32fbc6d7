# Takes one piece of work after another from a folder that it shares with other processes, until none is left, and writes down what
# came of it. A share of the vectors is a piece; so is each of the other suites.
param([string]$Queue, [string]$Result)
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
Import-Module Pester -MinimumVersion 5.0

$shares = 8
$pieces = @('Loader', 'Resume', 'Aside') # what takes longest begins first
$pieces += @(0..($shares - 1) | ForEach-Object { "Vectors $_" })
$suites = @(Get-ChildItem $PSScriptRoot -Filter *.Tests.ps1 | ForEach-Object { $_.Name -replace '\.Tests\.ps1$', '' })
$pieces += @($suites | Where-Object { $_ -notin $pieces -and $_ -ne 'Vectors' })

# A file that is there already is the claim of another process.
function Test-Claim([string]$Piece) {
    try {
        [IO.File]::Open("$Queue/$Piece", 'CreateNew').Dispose()
        $true
    }
    catch [IO.IOException] { $false }
}

function Invoke-Piece([string]$Piece) {
    $suite, $share = $Piece -split ' '
    $about = @{ Path = "$PSScriptRoot/$suite.Tests.ps1" }
    if ($share) { $about.Data = @{ Share = [int]$share; Of = $shares } }
    $configuration = New-PesterConfiguration
    $configuration.Run.Container = New-PesterContainer @about
    $configuration.Run.PassThru = $true
    $configuration.Output.Verbosity = 'None'
    Invoke-Pester -Configuration $configuration
}

# One that did not run, because what stands before it failed, counts as failed.
function Add-Count($Done) {
    $total.passed += $Done.PassedCount
    $total.skipped += $Done.SkippedCount
    $total.failed += $Done.TotalCount - $Done.PassedCount - $Done.SkippedCount
    $total.vectors += @($Done.Tests | Where-Object { $_.ExpandedPath -like 'vector *.ends as expected' }).Count
    foreach ($test in $Done.Tests | Where-Object { $_.Result -notin 'Passed', 'Skipped' }) {
        "FAILED $($test.ExpandedPath)"
        foreach ($problem in $test.ErrorRecord) { "    $($problem.Exception.Message -replace "`n", "`n    ")" }
    }
    foreach ($suite in $Done.Containers | Where-Object { $_.ErrorRecord }) {
        if (-not $Done.TotalCount) { $total.failed++ }
        "FAILED $($suite.Item): $($suite.ErrorRecord[0].Exception.Message)"
    }
    foreach ($block in $Done.FailedBlocks) { foreach ($problem in $block.ErrorRecord) { "    $($block.ExpandedName): $problem" } }
    $total.times += @($Done.Tests | ForEach-Object { "{0:00.0} {1}" -f $_.Duration.TotalSeconds, $_.ExpandedPath })
}

$total = @{ passed = 0; failed = 0; skipped = 0; vectors = 0; times = @() }
foreach ($piece in $pieces) {
    if (Test-Claim $piece) { Add-Count (Invoke-Piece $piece) }
}
[IO.File]::WriteAllText($Result, "$($total.passed) $($total.failed) $($total.skipped) $($total.vectors)`n")
$slowest = $total.times | Sort-Object -Descending | Select-Object -First 20
[IO.File]::WriteAllText("$Result.slowest", ($slowest -join "`n") + "`n")
exit 0 # whatever a program of the tests has left there
