# The agent is ended by force before, in and after every write of its state; then it starts again.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

BeforeDiscovery {
    . "$PSScriptRoot/resume.ps1"
    $count = New-CopySet ''
    $folder = Join-Path ([IO.Path]::GetTempPath()) "capwin-$([Guid]::NewGuid())"
    $null = Invoke-Straight (New-ResumeVector) $folder $count
    [IO.Directory]::Delete($folder, $true)
    $points = foreach ($at in 1..$count.Counts['after']) { foreach ($moment in 'before', 'made', 'after') { @{ Point = "$moment-$at" } } }
}
BeforeAll {
    . "$PSScriptRoot/resume.ps1"
    $script:Copies = New-CopySet "$TestDrive/copies"
    $script:Straight = "$TestDrive/straight"
    $script:Want = Invoke-Straight (New-ResumeVector) $Straight $Copies
    # Questions, the last word, and the undo of a program that had not yet begun may come twice.
    $script:Twice = '*kubeadm.exe","version*', '*kubeadm.exe","reset*', 'task.disable*', 'file C:\run\cluster-api\*'
    function New-OnePhase($Step) {
        $vector = New-ResumeVector
        $vector.plan.phases = @(@{ name = 'a'; steps = @($Step) })
        $vector
    }
}

Describe 'resume' {
    It 'has a straight run to compare with' {
        $Want.state['state'] | Should -Be 'Succeeded'
        $Want.state['reboots'] | Should -Be 2
        @($Want.world['effects']).Count | Should -BeGreaterThan 20
    }
    It 'is the same after an end at <Point> of the writes' -ForEach $points {
        $base = "$TestDrive/straight"
        $got = Complete-World (Restore-Copy $Copies $Point $base) $base
        $got.state['state'] | Should -Be 'Succeeded'
        $got.state['reboots'] | Should -Be $Want.state['reboots']
        $got.tree | Should -Be $Want.tree
        foreach ($part in 'services', 'features', 'acl') {
            ConvertTo-Json (Get-Sorted $got.world[$part]) | Should -Be (ConvertTo-Json (Get-Sorted $Want.world[$part])) -Because $part
        }
        ConvertTo-Json (Get-Sorted $got.state['facts']) | Should -Be (ConvertTo-Json (Get-Sorted $Want.state['facts']))
        foreach ($other in Compare-Object -ReferenceObject @($Want.world['effects']) -DifferenceObject @($got.world['effects'])) {
            $allowed = @($Twice | Where-Object { $other.InputObject -like $_ }).Count
            if (-not $allowed) { throw "$($other.SideIndicator) $($other.InputObject)" }
        }
    }
    BeforeAll {
        function Get-Sorted($Table) {
            $sorted = [ordered]@{}
            foreach ($key in @($Table.Keys | Sort-Object)) {
                $sorted[$key] = if ($Table[$key] -is [Collections.IDictionary]) { Get-Sorted $Table[$key] } else { $Table[$key] }
            }
            $sorted
        }
    }
    It 'runs the undo of a program that was cut short' {
        $base = "$TestDrive/undo"
        $vector = New-ResumeVector
        $vector.plan.phases = @($vector.plan.phases[1])
        $vector.world.tls = @{ 'api:6443' = $true }
        $vector.world.commands[0].Remove('writes')
        $copies = New-CopySet "$TestDrive/undo-copies"
        $straight = Invoke-Straight $vector $base $copies
        # The last copy that has one join, and a state that says that it was begun.
        $join = @($straight.world['effects']).IndexOf('run ["kubeadm.exe","join"]') + 1
        $got = Complete-World (Restore-Copy $copies "effect-$join" $base) $base
        $join, $reset = 'run ["kubeadm.exe","join"]', 'run ["kubeadm.exe","reset","-f"]'
        @($got.world['effects']) -match 'kubeadm' -join "`n" | Should -Be ('run ["kubeadm.exe","version"]', $join, $reset, $join -join "`n")
    }
    It 'asks again for a reboot that did not happen, without counting it' {
        $base = "$TestDrive/norb"
        $world = Initialize-World (New-OnePhase @{ do = 'reboot'; name = 'r'; if = 'always' }) $base
        Invoke-Start $world $base
        Invoke-Start $world $base
        @($world['effects']).Count | Should -Be 2
        (Read-State $base)['reboots'] | Should -Be 1
        (Read-State $base)['state'] | Should -Be 'Rebooting'
        Test-Path (Get-Sentinel $base) | Should -BeFalse
        Get-Content -Raw "$(Get-Root $base)/agent.log" | Should -Not -Match 'exit code'
    }
    It 'does nothing on a disk that was copied to another machine' {
        $base = "$TestDrive/copy"
        $steps = @{ do = 'reboot'; name = 'r'; if = 'always' }, @{ do = 'run'; name = 'x'; argv = @('kubeadm.exe', 'join') }
        $world = Initialize-World (New-OnePhase $steps) $base
        Invoke-Start $world $base
        Start-Boot $world
        $world.facts = @{ smbios = 'ANOTHER' }
        $world.effects = @()
        Invoke-Start $world $base
        @($world['effects']) | Should -BeNullOrEmpty
        Get-Content -Raw "$(Get-Root $base)/agent.log" | Should -Match 'disk of another machine'
    }
    It 'only says it again when it is started after the end' {
        $base = "$TestDrive/said"
        $got = Complete-World (Initialize-World (New-OnePhase @{ do = 'file'; name = 'f'; path = 'C:\k\a'; text = 'a' }) $base) $base
        $got.world.effects = @()
        [IO.File]::Delete((Get-Sentinel $base))
        Invoke-Start $got.world $base
        @($got.world['effects']) -join ' ' | Should -Be 'task.disable capwin-agent'
        Test-Path (Get-Sentinel $base) | Should -BeFalse
    }
    It 'leaves no secret behind when it is ended right after it failed' {
        $base = "$TestDrive/secret"
        $steps = @(
            @{ do = 'file'; name = 'f'; path = 'C:\k\join.yaml'; content = 'c2VjcmV0' }
            @{ do = 'check'; name = 'c'; fact = 'cpus'; is = '99'; say = 'too few CPUs' }
        )
        $copies = New-CopySet "$TestDrive/secret-copies"
        $null = Invoke-Straight (New-OnePhase $steps) $base $copies
        $world = Restore-Copy $copies "after-$($copies.Counts['after'])" $base
        $plan = "$(Get-Root $base)/plan.json"
        Get-Content -Raw $plan | Should -Match 'c2VjcmV0'
        (Complete-World $world $base).state['state'] | Should -Be 'Failed'
        Get-Content -Raw $plan | Should -Not -Match 'c2VjcmV0'
        Test-Path "$base/C/AzureData/CustomData.bin" | Should -BeFalse
        Test-Path "$base/C/run/cluster-api" | Should -BeFalse
    }
    It 'lets one instance work at a time' {
        $base = "$TestDrive/one"
        $world = Initialize-World (New-ResumeVector) $base
        $holder = [IO.File]::Open("$(Get-Root $base)/agent.lock", 'OpenOrCreate', 'ReadWrite', 'None')
        # The scanner for whose sake the agent tries again lets go after a while; this one does not.
        $once = { function Invoke-Patiently([scriptblock]$Do) { & $Do } }
        try { Invoke-Start $world $base $once } finally { $holder.Dispose() }
        Test-Path "$(Get-Root $base)/state.json" | Should -BeFalse
        Get-Content -Raw "$(Get-Root $base)/agent.log" | Should -Match 'another agent'
    }
    It 'lets go of its lock when its process is killed' {
        $base = "$TestDrive/killed"
        $world = Initialize-World (New-OnePhase @{ do = 'run'; name = 'x'; argv = @('kubeadm.exe', 'join') }) $base
        $lock = "$(Get-Root $base)/agent.lock"
        $open = "`$file = [IO.File]::Open('$lock', 'OpenOrCreate', 'ReadWrite', 'None'); "
        $open += "[Console]::Out.WriteLine('held'); [Console]::ReadLine()"
        $start = New-Object Diagnostics.ProcessStartInfo $env:PWSH
        $start.Arguments = "-NoProfile -NonInteractive -Command `"$open`""
        $start.RedirectStandardInput = $start.RedirectStandardOutput = $true
        $holder = [Diagnostics.Process]::Start($start)
        try { $holder.StandardOutput.ReadLine() | Should -Be 'held' } finally { $holder.Kill(); $holder.WaitForExit() }
        (Complete-World $world $base).state['state'] | Should -Be 'Succeeded'
    }
}
