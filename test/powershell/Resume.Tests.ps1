# The agent is ended by force, in a process of its own, before and after every write of its state; then it starts again.
BeforeDiscovery {
    $script:BootPoints = @(foreach ($at in 1..6) { @{ At = $at; Moment = 'effect' } }) + @{ At = 1; Moment = 'before' } + @{ At = 1; Moment = 'after' }
    $script:Points = foreach ($at in 1..23) { foreach ($moment in 'before', 'after') { @{ At = $at; Moment = $moment } } }
}
BeforeAll {
    . "$PSScriptRoot/world.ps1"
    $script:Shell = (Get-Process -Id $PID).Path
    function New-Vector {
        $b64 = [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes('token: abcdef.0123456789abcdef'))
        @{
            world = @{
                files = @{ 'C:\AzureData\CustomData.bin' = 'x'; 'C:\x\old.json' = 'y' }
                services = @{ kubelet = @{ state = 'Stopped' } }; registry = @{ 'HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\kubelet' = @{ ImagePath = 'C:\k\nssm.exe'; Start = 2 } }
                features = @{ Containers = 'Available' }; featureReboot = $true; tls = @{ 'api:6443' = 4 }
                commands = @(@{ argv = @('kubeadm.exe', 'join'); out = 'joined'; writes = @{ 'C:\etc\kubernetes\kubelet.conf' = 'k' } }, @{ argv = @('kubeadm.exe', 'version'); out = 'v1.36.3' }, @{ argv = @('kubeadm.exe', 'reset') })
            }
            plan = @{
                version = 1; machine = @{ uid = 'u'; name = 'm'; node = 'n'; namespace = 'ns'; cluster = 'c' }; redact = @(); report = @(); erase = @('C:\AzureData\*')
                phases = @(
                    @{ name = 'prepare'; steps = @(
                            @{ do = 'directory'; name = 'd'; path = 'C:\var\lib\kubelet'; access = 'admin' }
                            @{ do = 'file'; name = 'f'; path = 'C:\k\join.yaml'; content = $b64; access = 'admin' }
                            @{ do = 'registry'; name = 'r'; key = 'HKEY_LOCAL_MACHINE\SOFTWARE\a'; valueName = 'v'; value = '1' }
                            @{ do = 'registry'; name = 'e'; key = 'HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\Session Manager\Environment'; valueName = 'HTTP_PROXY'; value = 'http://p' }
                            @{ do = 'feature'; name = 'ft'; features = @('Containers') }
                            @{ do = 'registry'; name = 'pf'; key = 'HKEY_LOCAL_MACHINE\SOFTWARE\a'; valueName = 'pages'; value = '8192' }
                            @{ do = 'reboot'; name = 'rb'; if = 'always' }) }
                    @{ name = 'join'; steps = @(
                            @{ do = 'waitFor'; name = 'api'; for = 'https'; host = 'api'; port = 6443; say = 'the API server does not answer' }
                            @{ do = 'fact'; name = 'v'; argv = @('kubeadm.exe', 'version'); match = 'v([\d.]+)'; set = 'kubeadm'; say = 'kubeadm does not tell its version' }
                            @{ do = 'check'; name = 'c'; fact = 'kubeadm'; atLeast = '1.36'; say = 'kubeadm is too old' }
                            @{ do = 'service'; name = 's'; service = 'kubelet'; command = @('C:\k\kubelet.exe', '--windows-service') }
                            @{ do = 'run'; name = 'join'; argv = @('kubeadm.exe', 'join'); creates = 'C:\etc\kubernetes\kubelet.conf'; undo = @('kubeadm.exe', 'reset', '-f') }
                            @{ do = 'serviceState'; name = 'ss'; service = 'kubelet'; state = 'running' }) }
                    @{ name = 'end'; steps = @(
                            @{ do = 'remove'; name = 'rm'; paths = @('C:\k\join.yaml'); patterns = @('C:\x\*.json') }) }
                )
            }
        }
    }
    function Save-World($World, $Base) { Set-Content "$Base/world.json" (ConvertTo-Json $World -Depth 20) }
    function Read-World($Base) { Get-Content -Raw "$Base/world.json" | ConvertFrom-Json -AsHashtable }
    function Get-Tree($Base) { @(Get-ChildItem -Recurse -File "$Base/C" | Where-Object FullName -NotLike '*ProgramData*' | ForEach-Object { $_.FullName.Substring($Base.Length) + ' ' + (Get-FileHash $_).Hash.Substring(0, 8) } | Sort-Object) -join "`n" }
    # "Boots" until the state is final. A reboot happens when one was asked for; the marker goes with it.
    function Complete-World($Base) {
        for ($run = 0; $run -lt 12; $run++) {
            $root = "$Base/C/ProgramData/capwin"
            $state = if (Test-Path "$root/state.json") { Get-Content -Raw "$root/state.json" | ConvertFrom-Json -AsHashtable } else { @{ state = 'none' } }
            $world = Read-World $Base
            if ($state.state -in 'Succeeded', 'Failed' -and @($world.effects) -contains 'task.disable capwin-agent') { break }
            if (@($world.effects)[-1] -like '*shutdown.exe*') { $world.marker = 0; $world.effects = @($world.effects) + 'boot'; foreach ($n in @($world.features.Keys)) { $world.features[$n] = 'Installed' } }
            Invoke-WorldOnce $world $root "$Base/C/run/cluster-api/bootstrap-success.complete"
            Save-World $world $Base
        }
        @{ state = (Get-Content -Raw "$root/state.json" | ConvertFrom-Json -AsHashtable); world = (Read-World $Base); tree = (Get-Tree $Base) }
    }
    $script:Straight = "$TestDrive/straight"
    Save-World (Initialize-World (New-Vector) $Straight) $Straight
    $script:Want = Complete-World $Straight
}

Describe 'resume' {
    It 'has a straight run to compare with' {
        $Want.state.state | Should -Be 'Succeeded'
        $Want.state.reboots | Should -Be 2
        @($Want.world.effects).Count | Should -BeGreaterThan 20
    }
    It 'is the same after an end <Moment> write <At> of the state' -ForEach $script:Points {
        $base = "$TestDrive/k-$At-$Moment"
        Save-World (Initialize-World (New-Vector) $base) $base
        # Boot 1 has few writes; later points are reached by letting the machine boot in between.
        $left = $At
        for ($boot = 0; $boot -lt 4; $boot++) {
            $null = & $Shell -NoProfile -File "$PSScriptRoot/child.ps1" -Base $base -KillAt $left -Moment $Moment
            if ($LASTEXITCODE -eq 137) { break }
            $world = Read-World $base
            $left -= $world.saves
            if (@($world.effects)[-1] -notlike '*shutdown.exe*') { break }
            $world.marker = 0; $world.effects = @($world.effects) + 'boot'; foreach ($n in @($world.features.Keys)) { $world.features[$n] = 'Installed' }
            Save-World $world $base
        }
        $LASTEXITCODE | Should -Be 137 -Because 'the point must exist'
        $got = Complete-World $base
        $got.state.state | Should -Be 'Succeeded'
        $got.state.reboots | Should -Be $Want.state.reboots
        $got.tree | Should -Be $Want.tree
        ConvertTo-Json $got.state.facts | Should -Be (ConvertTo-Json $Want.state.facts)
        foreach ($part in 'services', 'features') { ConvertTo-Json (Get-Sorted $got.world[$part]) | Should -Be (ConvertTo-Json (Get-Sorted $Want.world[$part])) -Because $part }
        # nothing is done twice that is seen from outside, but questions and the last word may be
        # the undo of a program that had not yet begun does no harm
        $twice = '*kubeadm.exe","version*', '*kubeadm.exe","reset*', 'task.disable*', 'file C:\run\cluster-api\*'
        $extra = Compare-Object @($Want.world.effects) @($got.world.effects) | Where-Object { $e = $_.InputObject; @($twice | Where-Object { $e -like $_ }).Count -eq 0 }
        $extra | ForEach-Object { "$($_.SideIndicator) $($_.InputObject)" } | Should -BeNullOrEmpty
    }
    BeforeAll {
        function Get-Sorted($Table) { $o = [ordered]@{}; foreach ($k in @($Table.Keys | Sort-Object)) { $o[$k] = if ($Table[$k] -is [Collections.IDictionary]) { Get-Sorted $Table[$k] } else { $Table[$k] } }; $o }
    }
    It 'runs the undo of a program that was cut short' {
        $base = "$TestDrive/undo"
        $vector = New-Vector
        $vector.plan.phases = @($vector.plan.phases[1])
        $vector.world.tls = @{ 'api:6443' = $true }
        $vector.world.commands[0].Remove('writes')
        Save-World (Initialize-World $vector $base) $base
        $null = & $Shell -NoProfile -File "$PSScriptRoot/child.ps1" -Base $base -KillAt 6 -Moment before
        $LASTEXITCODE | Should -Be 137
        $got = Complete-World $base
        (@($got.world.effects) -match 'kubeadm' -join "`n") | Should -Be "run [`"kubeadm.exe`",`"version`"]`nrun [`"kubeadm.exe`",`"join`"]`nrun [`"kubeadm.exe`",`"reset`",`"-f`"]`nrun [`"kubeadm.exe`",`"join`"]"
    }
    It 'asks again for a reboot that did not happen, without counting it' {
        $base = "$TestDrive/norb"
        $vector = New-Vector
        $vector.plan.phases = @(@{ name = 'a'; steps = @(@{ do = 'reboot'; name = 'r'; if = 'always' }) })
        $world = Initialize-World $vector $base
        $root = "$base/C/ProgramData/capwin"
        Invoke-WorldOnce $world $root "$base/s"
        Invoke-WorldOnce $world $root "$base/s"
        @($world.effects).Count | Should -Be 2
        (Get-Content -Raw "$root/state.json" | ConvertFrom-Json).reboots | Should -Be 1
        Test-Path "$base/s" | Should -BeFalse
    }
    It 'does nothing on a disk that was copied to another machine' {
        $base = "$TestDrive/copy"
        $vector = New-Vector
        $vector.plan.phases = @(@{ name = 'a'; steps = @(@{ do = 'reboot'; name = 'r'; if = 'always' }, @{ do = 'run'; name = 'x'; argv = @('kubeadm.exe', 'join') }) })
        $world = Initialize-World $vector $base
        $root = "$base/C/ProgramData/capwin"
        Invoke-WorldOnce $world $root "$base/s"
        $world.marker = 0; $world.facts = @{ smbios = 'ANOTHER' }; $world.effects = @()
        Invoke-WorldOnce $world $root "$base/s"
        @($world.effects) | Should -BeNullOrEmpty
        Get-Content -Raw "$root/agent.log" | Should -Match 'disk of another machine'
    }
    It 'only says it again when it is started after the end' {
        $world = Read-World $Straight
        $world.effects = @()
        $sentinel = "$Straight/C/run/cluster-api/bootstrap-success.complete"
        Remove-Item $sentinel
        Invoke-WorldOnce $world "$Straight/C/ProgramData/capwin" $sentinel
        @($world.effects) -join ' ' | Should -Be 'task.disable capwin-agent'
        Test-Path $sentinel | Should -BeFalse
    }
    It 'leaves no secret behind when it is ended right after it failed' {
        $base = "$TestDrive/secret"
        $vector = New-Vector
        $vector.plan.phases = @(@{ name = 'a'; steps = @(@{ do = 'file'; name = 'f'; path = 'C:\k\join.yaml'; content = 'c2VjcmV0' }, @{ do = 'check'; name = 'c'; fact = 'cpus'; is = '99'; say = 'too few CPUs' }) })
        Save-World (Initialize-World $vector $base) $base
        $null = & $Shell -NoProfile -File "$PSScriptRoot/child.ps1" -Base $base -KillAt 3 -Moment after
        $LASTEXITCODE | Should -Be 137
        Get-Content -Raw "$base/C/ProgramData/capwin/plan.json" | Should -Match 'c2VjcmV0'
        $got = Complete-World $base
        $got.state.state | Should -Be 'Failed'
        Get-Content -Raw "$base/C/ProgramData/capwin/plan.json" | Should -Not -Match 'c2VjcmV0'
        Test-Path "$base/C/AzureData/CustomData.bin" | Should -BeFalse
        Test-Path "$base/C/run/cluster-api" | Should -BeFalse
    }
    It 'lets one instance work at a time' {
        $base = "$TestDrive/one"
        $world = Initialize-World (New-Vector) $base
        $root = "$base/C/ProgramData/capwin"
        . "$NodePlan/agent.ps1" -Root $root -NoRun
        . "$NodePlan/steps.ps1"
        $ready = "$TestDrive/held"
        $open = "[IO.File]::Open('$root/agent.lock', 'OpenOrCreate', 'ReadWrite', 'None')"
        $holder = Start-Process -PassThru $Shell -ArgumentList '-NoProfile', '-Command', "`$f = $open; New-Item '$ready'; Start-Sleep 30"
        try {
            while (-not (Test-Path $ready)) { Start-Sleep -Milliseconds 100 }
            Invoke-WorldOnce $world $root "$base/s"
            Test-Path "$root/state.json" | Should -BeFalse
            Get-Content -Raw "$root/agent.log" | Should -Match 'another agent'
        }
        finally { Stop-Process -Id $holder.Id }
    }
}

Describe 'everyBoot' {
    BeforeAll {
        # A machine that has finished its bootstrap; the stale networks come back at every start.
        function New-Booted($Base) {
            $vector = New-Vector
            $vector.world.stale = @(@{ kind = 'networks'; ID = '7'; Name = 'Calico'; Type = 'Overlay' }, @{ kind = 'networks'; ID = '8'; Name = 'cbr0'; Type = 'L2Bridge' })
            $vector.world.commands = @($vector.world.commands) + @{ argv = @('fix.exe') }
            $vector.plan.phases = @(@{ name = 'main'; steps = @(@{ do = 'file'; name = 'f'; path = 'C:\k\join.yaml'; content = 'c2VjcmV0' }) })
            $vector.plan.everyBoot = @(
                @{ name = 'network'; steps = @(
                        @{ do = 'hnsCleanup'; name = 'clean'; networks = @('*') }
                        @{ do = 'registry'; name = 'r'; key = 'HKEY_LOCAL_MACHINE\SOFTWARE\a'; valueName = 'v'; value = '1' }) }
                @{ name = 'node'; steps = @(
                        @{ do = 'file'; name = 'f'; path = 'C:\k\net.conf'; content = 'YWJj' }
                        @{ do = 'serviceState'; name = 'ss'; service = 'kubelet'; state = 'running' }
                        @{ do = 'run'; name = 'fix'; argv = @('fix.exe') }) }
            )
            $world = Initialize-World $vector $Base
            Invoke-Boot $world $Base
            $world
        }
        function Invoke-Boot($World, $Base) { Invoke-WorldOnce $World "$Base/C/ProgramData/capwin" "$Base/C/run/cluster-api/bootstrap-success.complete" }
        function Read-State($Base) { Get-Content -Raw "$Base/C/ProgramData/capwin/state.json" | ConvertFrom-Json -AsHashtable }
        function Get-Outcome($World) { ConvertTo-Json -Depth 9 (Get-Sorted @{ services = $World.services; registry = $World.registry; hns = @($World.hns).Count }) }
        function Get-Sorted($Table) { $o = [ordered]@{}; foreach ($k in @($Table.Keys | Sort-Object)) { $o[$k] = if ($Table[$k] -is [Collections.IDictionary]) { Get-Sorted $Table[$k] } else { $Table[$k] } }; $o }
        $script:BootBase = "$TestDrive/boot"
        $world = New-Booted $BootBase
        Remove-Item "$BootBase/C/run/cluster-api/bootstrap-success.complete"
        Start-Later $world
        $world.effects = @()
        Invoke-Boot $world $BootBase
        $script:BootWant = @{ world = $world; tree = (Get-Tree $BootBase); state = (Read-State $BootBase) }
    }
    It 'has a straight run to compare with, which leaves the sentinel alone' {
        $BootWant.state.boot.state | Should -Be 'Succeeded'
        $BootWant.state.state | Should -Be 'Succeeded'
        @($BootWant.world.effects).Count | Should -Be 6
        @($BootWant.state.durations.Keys) -join ' ' | Should -Be 'main' -Because 'durations are those of the bootstrap'
        Test-Path "$BootBase/C/run/cluster-api/bootstrap-success.complete" | Should -BeFalse
    }
    It 'begins anew after an end (<Moment> <At>), and the state is whole' -ForEach $script:BootPoints {
        $base = "$TestDrive/boot-$At-$Moment"
        $world = New-Booted $base
        Remove-Item "$base/C/run/cluster-api/bootstrap-success.complete"
        $before = Get-Content -Raw "$base/C/ProgramData/capwin/state.json"
        Start-Later $world
        $world.effects = @()
        Save-World $world $base
        $null = & $Shell -NoProfile -File "$PSScriptRoot/child.ps1" -Base $base -KillAt $At -Moment $Moment
        $LASTEXITCODE | Should -Be 137 -Because 'the point must exist'
        if ($Moment -ne 'after') { Get-Content -Raw "$base/C/ProgramData/capwin/state.json" | Should -Be $before }
        $world = Read-World $base
        Start-Later $world
        $world.effects = @()
        Invoke-Boot $world $base
        $state = Read-State $base
        $state.state | Should -Be 'Succeeded'
        $state.boot.state | Should -Be 'Succeeded'
        Get-Outcome $world | Should -Be (Get-Outcome $BootWant.world)
        Get-Tree $base | Should -Be $BootWant.tree
        @($world.effects) -contains 'task.disable capwin-agent' | Should -BeFalse
    }
    It 'waits for the next start of the machine, and runs once in it' {
        $base = "$TestDrive/boot-same"
        $world = New-Booted $base
        $world.effects = @()
        Invoke-Boot $world $base
        @($world.effects) | Should -BeNullOrEmpty
        Start-Later $world
        Invoke-Boot $world $base
        $first = @($world.effects).Count
        Invoke-Boot $world $base
        @($world.effects).Count | Should -Be $first
        (Read-State $base).boot.state | Should -Be 'Succeeded'
    }
    It 'may be started again by hand after a failure' {
        $base = "$TestDrive/boot-hand"
        $world = New-Booted $base
        Start-Later $world
        $world.throws = @{ 'fix.exe' = 'broken here' }
        Invoke-Boot $world $base
        (Read-State $base).boot.reason | Should -Be 'RunFailed'
        $world.throws = @{}
        Invoke-Boot $world $base
        (Read-State $base).boot.state | Should -Be 'Succeeded'
    }
    It 'does nothing on a disk that was copied to another machine' {
        $base = "$TestDrive/boot-copy"
        $world = New-Booted $base
        Start-Later $world
        $world.facts = @{ smbios = 'ANOTHER' }
        $world.effects = @()
        Invoke-Boot $world $base
        @($world.effects) | Should -BeNullOrEmpty
        (Read-State $base).ContainsKey('boot') | Should -BeFalse
    }
    It 'leaves the bootstrap succeeded when its own result can not be written, or the facts do not come' {
        foreach ($what in 'Write-State', 'Get-CimInstance') {
            $base = "$TestDrive/boot-$what"
            $world = New-Booted $base
            Start-Later $world
            $root = "$base/C/ProgramData/capwin"
            & {
                . "$NodePlan/agent.ps1" -Root $root -Sentinel "$base/s" -NoRun
                . "$NodePlan/steps.ps1"
                . "$PSScriptRoot/stubs.ps1"
                Set-Item "function:$what" { throw 'broken here' }
                Invoke-Agent
            }
            (Read-State $base).state | Should -Be 'Succeeded'
            Get-Content -Raw "$root/agent.log" | Should -Match 'broken here|FactsUnavailable'
            Test-Path "$base/s" | Should -BeFalse
        }
        (Read-State $base).boot.reason | Should -Be 'FactsUnavailable'
    }
}
