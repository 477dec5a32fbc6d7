# Runs a script of bootstrap/windows, in a folder of its own. Dot-source it in BeforeAll, behind storage.ps1, which ends and refuses it.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
$script:Scripts = (Resolve-Path "$PSScriptRoot/../../../bootstrap/windows").Path

function Reset-Point($At = 0, $How = '') {
    $script:Point = @{ at = $At; how = $How; count = 0; ended = $false; names = @(); watched = ''; watch = $null; seen = $null }
}

# The script in a folder of its own, with some of its text replaced.
function Copy-Script([string]$Name, $Replacing = @()) {
    $text = [IO.File]::ReadAllText("$Scripts/$Name")
    foreach ($pair in $Replacing) {
        $text.Contains($pair[0]) | Should -BeTrue -Because "$Name has $($pair[0])"
        $text = $text.Replace($pair[0], $pair[1])
    }
    $script:Folder = Join-Path $TestDrive ([Guid]::NewGuid().ToString('n'))
    $null = New-Item -ItemType Directory $Folder
    [IO.File]::WriteAllText("$Folder/$Name", $text)
}

# Output and exit code; what it throws is the exit code 1 and a sentence, as of powershell.exe -File.
function Invoke-Script([string]$Name, $Arguments = @()) {
    $file = "$Folder/$Name"
    # A script that ends without exit leaves the exit code of the program before it.
    Set-Variable -Scope Global -Name LASTEXITCODE -Value 0
    try { $out = & $file @Arguments; @{ code = $LASTEXITCODE; text = "$out" } }
    catch { @{ code = 1; text = $_.Exception.Message } }
}
