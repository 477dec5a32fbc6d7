<#
What a machine has around the stand-ins of test/upstream/powershell: dot-source it behind them, in the scope of the agent. Its
programs answer by programs.ps1; one may fail, and each file that is written has its moments.
#>
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

# Files: before, in and after each write, also of the agent's own. Half a file has half its bytes; a file that is replaced by
# a new one is gone for a moment.
Copy-Item -Path function:New-Content -Destination function:New-WholeContent
function New-Content([string]$Path, [byte[]]$Bytes, [string]$Sddl) {
    Step-Moment "before the write of $Path"
    Step-Moment "in the write of $Path" {
        $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($Path))
        $half = [byte[]]@($Bytes | Select-Object -First ([int]($Bytes.Length / 2)))
        [IO.File]::WriteAllBytes("$Path.0123456789abcdef0123456789abcdef.capwin-new", $half)
    }
    New-WholeContent $Path $Bytes $Sddl
}

Copy-Item -Path function:Move-OverFile -Destination function:Move-WholeFile
function Move-OverFile([string]$From, [string]$To, [bool]$Anew) {
    Step-Moment "before the move to $To"
    if ($Anew -and [IO.File]::Exists($To)) { Step-Moment "in the move to $To" { [IO.File]::Delete($To) } }
    Move-WholeFile $From $To $Anew
    Step-Moment "after the move to $To"
}

# Programs: the first attempt of a step of kind run is a place to go on from, and the step that is to fail fails at each attempt.
Copy-Item -Path function:Invoke-Program -Destination function:Invoke-StandInProgram
function Invoke-Program([string[]]$Argv, [int]$Limit = 60, [string]$Log, $Environment, [string]$Directory) {
    if ($Log -and $Agent.State['tries'] -eq 1) { Save-Place (Get-StepPlace) }
    $failing = $Log -and (Test-FailingStep)
    $answer = if ($failing) { $World.failAt } else { Get-Answer $Argv }
    $rule = if ($answer) { @{ argv = @(ConvertTo-WorldPath $Argv[0]); out = $answer['out']; err = $answer['err']; exit = $answer['exit'] } }
    $World.commands = @($rule | Where-Object { $_ })
    $done = Invoke-StandInProgram $Argv $Limit $Log $Environment $Directory
    $World.commands = @()
    if (-not $answer) { $answer = @{ out = $done.Text } }
    if ($Log) { Write-ProgramLog $Log $answer }
    if ($failing) { $World.failed = $true; Write-Spill } elseif ($answer['do']) { & $answer['do'] $answer['with'] }
    if ($Log) { Step-Moment "after $($Argv[0])" }
    $done
}

function Write-ProgramLog([string]$Log, $Answer) {
    [IO.File]::WriteAllText("$Log.out.log", [string]$Answer['out'])
    [IO.File]::WriteAllText("$Log.err.log", [string]$Answer['err'])
}

function Get-StepPlace {
    $state = $Agent.State
    @{ boot = [bool]$Agent.Boot; phase = $state['phase']; step = $state['step']; name = $state['stepName'] }
}

function Test-FailingStep {
    $at = $World['failAt']
    $at -and $at['boot'] -eq [bool]$Agent.Boot -and $at['phase'] -eq $Agent.State['phase'] -and $at['step'] -eq $Agent.State['step']
}

# What a program that fails leaves in logs of its own, in the encodings of Windows, with a mark and without.
function Write-Spill {
    $text = [string]$World['spill']
    $folder = ConvertTo-RealPath 'C:\var\log\containerd'
    $null = [IO.Directory]::CreateDirectory($folder)
    [IO.File]::WriteAllBytes("$folder/utf8.log", [Text.Encoding]::UTF8.GetBytes($text))
    [IO.File]::WriteAllBytes("$folder/utf16.log", [Text.Encoding]::Unicode.GetBytes($text))
    [IO.File]::WriteAllText("$folder/marked.log", $text, [Text.Encoding]::Unicode)
}
