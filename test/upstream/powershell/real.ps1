# For tests of the parts that need no Windows: the scripts as they are, and a state. $TestDrive is Pester's folder.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
$Here = if ($env:CAPWIN_SCRIPTS) { $env:CAPWIN_SCRIPTS } else { (Resolve-Path "$PSScriptRoot/../../../bootstrap/scripts").Path }
$null = [IO.Directory]::CreateDirectory("$TestDrive/root")
. "$Here/agent.ps1" -Root "$TestDrive/root" -NoRun
. "$Here/steps.ps1"

function New-State {
    $Agent.Plan = @{ redact = @('s3cret value'); deadlineSeconds = 600 }
    $Agent.State = @{
        warnings = @(); facts = @{}; phase = 0; step = 0; tries = 1; attempts = 0; phases = 1; phaseName = 'p'; stepName = 's'; uid = 'u'
        state = 'Running'; reason = ''; message = ''; exitCode = 0; reboots = 0; lastLines = @(); durations = @{}
    }
}

# The agent as it is packed, in one file.
function Get-PackedText([string]$Between) {
    [IO.File]::ReadAllText("$Here/agent.ps1") + "`n" + $Between + "`n" + [IO.File]::ReadAllText("$Here/steps.ps1")
}

# Begins something that waits long, on a thread of its own, where the scripts are loaded as well. Receive-Case has its output.
function Start-Case([scriptblock]$Do) {
    $shell = [Management.Automation.PowerShell]::Create()
    $null = $shell.AddScript("param(`$TestDrive) . '$PSScriptRoot/real.ps1'; New-State; $Do").AddArgument("$TestDrive")
    @{ Shell = $shell; Work = $shell.BeginInvoke() }
}

function Receive-Case($Case) {
    try { $Case.Shell.EndInvoke($Case.Work) } finally { $Case.Shell.Dispose() }
}

New-State
