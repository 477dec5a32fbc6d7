# What is done aside, by the agent as it is packed: one file, which a second thread reads again.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

BeforeAll {
    . "$PSScriptRoot/real.ps1"
    # Kinds of steps for these tests. A gate is opened by the test; done is set when the step ends, in whatever way.
    $more = @'
function Invoke-GateStep($Step) {
    try {
        $Agent.Facts['begun'] = 'yes'
        if ($Step['open']) { $Step['open'].Set() }
        if (-not $Step['gate'].Wait(60000)) { throw 'the gate stays closed' }
        Write-Output 'late' | Out-Null
        $Agent.Facts['ended'] = 'yes'
    }
    finally { $Step['done'].Set() }
}
function Invoke-LateStep($Step) { try { $null = $Step['gate'].Wait(60000); [int]::Parse('late') } finally { $Step['done'].Set() } }
function Invoke-ThrowStep($Step) { Exit-Step $Step['say'] 'Why' -Final -Text 'seen' -ExitCode 7 }
function Invoke-StrictStep { $NoSuch }
function Invoke-VariableStep { Write-Fact 'seen' "$AdminOnly $Servicing" }
function Invoke-NoteStep($Step) { 'output'; Write-Fact 'note' $Step['say']; $Agent.Reboot = 'again' }
'@
    $script:Packed = "$TestDrive/packed.ps1"
    [IO.File]::WriteAllText($Packed, (Get-PackedText $more))
    . $Packed -Root "$TestDrive/root" -NoRun
    New-State
    function New-Gate { New-Object Threading.ManualResetEventSlim $false }
    function New-GateStep { @{ gate = New-Gate; done = New-Gate } }
}

Describe 'what is done aside' {
    BeforeEach { $Agent.Facts.Remove('ended') }
    It 'shares facts and wishes, and tells nothing else' {
        @(Invoke-Aside 'Invoke-NoteStep' @{ say = 'x' } 20).Count | Should -Be 0
        Get-Fact 'note' | Should -Be 'x'
        $Agent.State['facts']['note'] | Should -Be 'x'
        $Agent.Reboot | Should -Be 'again'
        $Agent.Reboot = ''
    }
    It 'hands over what is thrown as it is' {
        $failure = try { Invoke-Aside 'Invoke-ThrowStep' @{ say = 'no such thing' } 20 } catch { $_.Exception }
        $failure.Message | Should -Be 'no such thing'
        $failure.Data['reason'] | Should -Be 'Why'
        $failure.Data['final'] | Should -BeTrue
        $failure.Data['text'] | Should -Be 'seen'
        $failure.Data['exitCode'] | Should -Be 7
    }
    It 'leaves behind what hangs, ends it before its next command, and goes on' {
        $step = New-GateStep
        $failure = try { Invoke-Aside 'Invoke-GateStep' $step 1 } catch { $_.Exception }
        $failure.Message | Should -Be 'Windows has not answered for 1 s'
        $failure.Data['reason'] | Should -Be 'StepHung'
        $failure.Data['final'] | Should -BeFalse
        Invoke-Aside 'Invoke-NoteStep' @{ say = 'after' } 20
        Get-Fact 'note' | Should -Be 'after'
        $step.gate.Set()
        $step.done.Wait(20000) | Should -BeTrue
        $Agent.Facts['begun'] | Should -Be 'yes'
        $Agent.Facts.ContainsKey('ended') | Should -BeFalse
        $Agent.Left | Should -BeTrue
    }
    It 'does not blame the next call for what one left behind throws' {
        $late = New-GateStep
        { Invoke-Aside 'Invoke-LateStep' $late 1 } | Should -Throw '*has not answered*'
        # While the next one is at work, the first one throws.
        { Invoke-Aside 'Invoke-GateStep' @{ open = $late.gate; gate = $late.done; done = New-Gate } 30 } | Should -Not -Throw
        $Agent.Facts['ended'] | Should -Be 'yes'
    }
    It 'is as strict there as here, and stops at the first error' {
        { Invoke-Aside 'Invoke-StrictStep' @{} 20 } | Should -Throw '*NoSuch*'
        { Invoke-Aside 'Get-Item' '/no/such/path' 20 } | Should -Throw
        { Invoke-Aside 'Invoke-VariableStep' @{} 20 } | Should -Not -Throw
        Get-Fact 'seen' | Should -Be "$AdminOnly $Servicing"
    }
    It 'finds its own file, with no console and no profile, when it is run by -File' {
        $ask = 'if ($PSCommandPath) { $Agent.State = @{ facts = @{} }; Invoke-Aside "Invoke-NoteStep" @{ say = "y" } 20; ' +
        'exit [int]($Agent.Facts["note"] -ne "y") }'
        [IO.File]::WriteAllText("$TestDrive/file.ps1", [IO.File]::ReadAllText($Packed) + "`n$ask`n")
        & $env:PWSH -NoProfile -NonInteractive -File "$TestDrive/file.ps1" -Root "$TestDrive/root" -NoRun
        $LASTEXITCODE | Should -Be 0
    }
    It 'ends the process even if what was left behind never ends' {
        $text = ". '$Packed' -Root '$TestDrive/root' -NoRun", '$Agent.State = @{ state = "Running" }'
        $text += '$never = New-Object Threading.ManualResetEventSlim $false'
        $text += 'try { Invoke-Aside "Invoke-LateStep" @{ gate = $never; done = $never } 1 } catch { }'
        $text += 'if ($Agent.Left) { [Environment]::Exit(0) } else { exit 1 }'
        [IO.File]::WriteAllText("$TestDrive/ends.ps1", $text -join "`n")
        $clock = [Diagnostics.Stopwatch]::StartNew()
        & $env:PWSH -NoProfile -File "$TestDrive/ends.ps1"
        $LASTEXITCODE | Should -Be 0
        $clock.Elapsed.TotalSeconds | Should -BeLessThan 30
    }
}
