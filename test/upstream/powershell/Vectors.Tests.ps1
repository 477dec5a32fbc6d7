# Every vector, or one share of them.
param([int]$Share = 0, [int]$Of = 1)
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

BeforeDiscovery {
    . "$PSScriptRoot/vectors.ps1"
    $known = @(Get-KnownDifference)
    $at = 0
    $vectors = foreach ($file in Get-ChildItem $VectorFolder -Filter *.json) {
        if ($at++ % $Of -eq $Share) { @{ File = $file.FullName; Name = $file.BaseName; Differs = $file.BaseName -in $known } }
    }
}
BeforeAll { . "$PSScriptRoot/vectors.ps1" }

Describe 'vector <Name>' -ForEach $vectors {
    It 'ends as expected' {
        if ($Differs) { Set-ItResult -Skipped -Because 'it is a known difference' }
        @(Find-EndProblem $File "$TestDrive/run") -join "`n" | Should -Be ''
    }
    It 'changes nothing the second time' { @(Find-AgainProblem $File "$TestDrive/again") -join "`n" | Should -Be '' }
    It 'survives every command it uses throwing' { @(Find-ThrowProblem $File "$TestDrive/throws") -join "`n" | Should -Be '' }
}
