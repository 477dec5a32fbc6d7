<#
What a machine has around the stand-ins of test/powershell: dot-source it after them, in the scope of the agent. Its programs answer
by programs.ps1; one may fail, and each file that is written has its moments.
#>
function Add-Effect([string]$Text) {
    $World.effects = @($World.effects) + $Text
    Step-Moment "after $Text"
}

# Files: before, in and after each write, also of the agent's own. Half a file has half its bytes; a file that is replaced by
# a new one is gone for a moment.
Copy-Item function:New-Content function:New-WholeContent
function New-Content([string]$Path, [byte[]]$Bytes, [string]$Sddl) {
    Step-Moment "before the write of $Path"
    Step-Moment "in the write of $Path" {
        $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($Path))
        [IO.File]::WriteAllBytes("$Path.0123456789abcdef0123456789abcdef.capwin-new", [byte[]]@($Bytes | Select-Object -First ([int]($Bytes.Length / 2))))
    }
    New-WholeContent $Path $Bytes $Sddl
}
Copy-Item function:Move-OverFile function:Move-WholeFile
function Move-OverFile([string]$From, [string]$To, [bool]$Anew) {
    Step-Moment "before the move to $To"
    if ($Anew -and [IO.File]::Exists($To)) { Step-Moment "in the move to $To" { [IO.File]::Delete($To) } }
    Move-WholeFile $From $To $Anew
    Step-Moment "after the move to $To"
}

# Programs: the first attempt of a step of kind run is a place to go on from, and the step that is to fail fails at each attempt.
Copy-Item function:Invoke-Program function:Invoke-StandInProgram
function Invoke-Program([string[]]$Argv, [int]$Limit = 60, [string]$Log, $Environment, [string]$Directory) {
    $failing = $Log -and (Test-FailingStep)
    if ($Log -and $Agent.State['tries'] -eq 1) {
        Save-Place @{ boot = [bool]$Agent.Boot; phase = $Agent.State['phase']; step = $Agent.State['step']; name = $Agent.State['stepName'] }
    }
    $answer = if ($failing) { $World.failAt } else { Get-Answer $Argv }
    $World.commands = @(if ($answer) { @{ argv = @(ConvertTo-WorldPath $Argv[0]); out = $answer['out']; err = $answer['err']; exit = $answer['exit'] } })
    $done = Invoke-StandInProgram $Argv $Limit $Log $Environment $Directory
    $World.commands = @()
    if (-not $answer) { $answer = @{ out = $done.Text } }
    if ($Log) { [IO.File]::WriteAllText("$Log.out.log", [string]$answer['out']); [IO.File]::WriteAllText("$Log.err.log", [string]$answer['err']) }
    if ($failing) { $World.failed = $true; Write-Spill } elseif ($answer['do']) { & $answer['do'] $answer['with'] }
    if ($Log) { Step-Moment "after $($Argv[0])" }
    $done
}

function Test-FailingStep {
    $at = $World['failAt']
    $at -and $at['boot'] -eq [bool]$Agent.Boot -and $at['phase'] -eq $Agent.State['phase'] -and $at['step'] -eq $Agent.State['step']
}

# What a program that fails leaves in logs of its own, in the encodings of Windows.
function Write-Spill {
    $text = [string]$World['spill']
    foreach ($one in @{ name = 'utf8'; bytes = [Text.Encoding]::UTF8 }, @{ name = 'utf16'; bytes = [Text.Encoding]::Unicode }) {
        $path = ConvertTo-RealPath "C:\var\log\containerd\$($one.name).log"
        $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($path))
        [IO.File]::WriteAllBytes($path, $one.bytes.GetBytes($text))
    }
    $path = ConvertTo-RealPath 'C:\var\log\containerd\marked.log'
    [IO.File]::WriteAllText($path, $text, [Text.Encoding]::Unicode)
}
