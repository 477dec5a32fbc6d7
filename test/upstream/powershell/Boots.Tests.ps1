# The steps of every boot, ended by force after each effect and around the one write of the state.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

BeforeDiscovery {
    . "$PSScriptRoot/resume.ps1"
    $count = New-CopySet ''
    $folder = Join-Path ([IO.Path]::GetTempPath()) "capwin-$([Guid]::NewGuid())"
    $null = Invoke-LaterStart $folder $count
    [IO.Directory]::Delete($folder, $true)
    $points = foreach ($moment in @($count.Counts.Keys | Sort-Object)) {
        foreach ($at in 1..$count.Counts[$moment]) { @{ Point = "$moment-$at" } }
    }
}
BeforeAll {
    . "$PSScriptRoot/resume.ps1"
    function Get-Outcome($World) {
        $parts = @{ services = $World.services; registry = $World.registry; hns = @($World.hns).Count; acl = $World.acl }
        ConvertTo-Json (Get-Sorted $parts) -Depth 9
    }
    function Get-Sorted($Table) {
        $sorted = [ordered]@{}
        foreach ($key in @($Table.Keys | Sort-Object)) {
            $sorted[$key] = if ($Table[$key] -is [Collections.IDictionary]) { Get-Sorted $Table[$key] } else { $Table[$key] }
        }
        $sorted
    }
    $script:Base = "$TestDrive/boot"
    $script:Copies = New-CopySet "$TestDrive/copies"
    $world = Invoke-LaterStart $Base $Copies
    $script:Want = @{ world = $world; tree = (Get-Tree $Base); state = (Read-State $Base); sentinel = (Test-Path (Get-Sentinel $Base)) }
}

Describe 'everyBoot' {
    It 'has a straight run to compare with, which leaves the sentinel alone' {
        $Want.state['boot']['state'] | Should -Be 'Succeeded'
        $Want.state['state'] | Should -Be 'Succeeded'
        @($Want.world['effects']).Count | Should -Be 6
        @($Want.state['durations'].Keys) -join ' ' | Should -Be 'main' -Because 'durations are those of the bootstrap'
        $Want.sentinel | Should -BeFalse
    }
    It 'begins anew after an end at <Point>, and the state is whole' -ForEach $points {
        $world = Restore-Copy $Copies $Point $Base
        if ($Point -notlike 'after*') { (Read-State $Base).ContainsKey('boot') | Should -BeFalse }
        Start-Later $world
        $world.effects = @()
        Invoke-Start $world $Base
        $state = Read-State $Base
        $state['state'] | Should -Be 'Succeeded'
        $state['boot']['state'] | Should -Be 'Succeeded'
        Get-Outcome $world | Should -Be (Get-Outcome $Want.world)
        Get-Tree $Base | Should -Be $Want.tree
        @($world['effects']) -contains 'task.disable capwin-agent' | Should -BeFalse
    }
    It 'waits for the next start of the machine, and runs once in it' {
        $base = "$TestDrive/same"
        $world = Invoke-LaterStart $base $null
        Invoke-Start $world $base
        $first = @($world['effects']).Count
        $first | Should -BeGreaterThan 0
        Invoke-Start $world $base
        @($world['effects']).Count | Should -Be $first
        (Read-State $base)['boot']['state'] | Should -Be 'Succeeded'
    }
    It 'does nothing in the start that ended the bootstrap' {
        $base = "$TestDrive/first"
        $world = Initialize-World (New-BootVector) $base
        Invoke-Start $world $base
        $world.effects = @()
        Invoke-Start $world $base
        @($world['effects']) | Should -BeNullOrEmpty
    }
    It 'may be started again by hand after a failure' {
        $base = "$TestDrive/hand"
        $world = Invoke-LaterStart $base $null
        $world.throws = @{ 'fix.exe' = 'broken here' }
        Invoke-Start $world $base
        (Read-State $base)['boot']['reason'] | Should -Be 'RunFailed'
        $world.throws = @{}
        Invoke-Start $world $base
        (Read-State $base)['boot']['state'] | Should -Be 'Succeeded'
    }
    It 'does nothing on a disk that was copied to another machine' {
        $base = "$TestDrive/copy"
        $world = Invoke-LaterStart $base $null
        $world.facts = @{ smbios = 'ANOTHER' }
        Invoke-Start $world $base
        @($world['effects']) | Should -BeNullOrEmpty
        (Read-State $base).ContainsKey('boot') | Should -BeFalse
    }
    It 'leaves the bootstrap succeeded when <What> fails' -ForEach @(@{ What = 'Write-State' }, @{ What = 'Get-CimInstance' }) {
        $base = "$TestDrive/$What"
        $world = Invoke-LaterStart $base $null
        $broken = { Set-Item -Path "function:$What" -Value { throw 'broken here' } }
        Invoke-Start $world $base $broken
        (Read-State $base)['state'] | Should -Be 'Succeeded'
        Get-Content -Raw "$(Get-Root $base)/agent.log" | Should -Match 'broken here|FactsUnavailable'
        Test-Path (Get-Sentinel $base) | Should -BeFalse
        if ($What -eq 'Get-CimInstance') { (Read-State $base)['boot']['reason'] | Should -Be 'FactsUnavailable' }
    }
}
