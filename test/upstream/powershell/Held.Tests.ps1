# Files that a scanner or an end in the middle has left in another's hands: what cannot be read is never taken for "not there".
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

BeforeAll {
    . "$PSScriptRoot/world.ps1"
    # A machine that has finished its bootstrap as the check says, and runs one program at each later start.
    function New-Machine([string]$Base, [string]$Cpus = '4') {
        $check = @{ do = 'check'; name = 'c'; fact = 'cpus'; is = $Cpus; say = 'too few CPUs' }
        $vector = @{
            world = @{ commands = @(@{ argv = @('fix.exe') }) }
            plan  = @{
                version = 1; machine = @{ uid = 'u'; name = 'm'; node = 'n'; namespace = 'ns'; cluster = 'c' }
                report = @(); redact = @(); erase = @()
                phases = @(@{ name = 'main'; steps = @(@{ do = 'file'; name = 'f'; path = 'C:\k\a'; text = 'a' }, $check) })
                everyBoot = @(@{ name = 'boot'; steps = @(@{ do = 'run'; name = 'fix'; argv = @('fix.exe') }) })
            }
        }
        Initialize-World $vector $Base
    }
    # Runs the agent; -Release is called at each pause of 200 ms.
    function Invoke-Start($World, [string]$Base, [scriptblock]$Release = { }) {
        $root = "$Base/C/ProgramData/capwin"
        & {
            . "$NodePlan/agent.ps1" -Root $root -Sentinel "$Base/done" -NoRun
            . "$NodePlan/steps.ps1"
            . "$PSScriptRoot/stubs.ps1"
            function Start-Sleep([int]$Seconds, [int]$Milliseconds) {
                if ($Milliseconds) { & $Release } else { $World.clock += $Seconds }
            }
            Invoke-Agent
        }
    }
    function Lock-File([string]$Path) { [IO.File]::Open($Path, 'Open', 'Read', 'None') }
    function Get-Content-Of([string]$Folder) {
        $ours = Get-ChildItem $Folder -File | Where-Object Name -NotIn 'agent.log', 'agent.lock' | Sort-Object Name
        @($ours | ForEach-Object { "$($_.Name) $((Get-FileHash $_.FullName).Hash)" }) -join "`n"
    }
}

Describe 'a file that is held' {
    It 'is waited for: <name>' -ForEach @(@{ name = 'plan.json' }, @{ name = 'state.json' }) {
        $base = "$TestDrive/moment-$name"
        $world = New-Machine $base
        $root = "$base/C/ProgramData/capwin"
        if ($name -eq 'state.json') { Invoke-Start $world $base; Start-Later $world; $world.effects = @() }
        $script:Held = Lock-File "$root/$name"
        $script:Pauses = 0
        Invoke-Start $world $base { if (++$script:Pauses -eq 20) { $script:Held.Dispose() } }
        $script:Pauses | Should -Be 20
        (Get-Content -Raw "$root/state.json" | ConvertFrom-Json).state | Should -Be 'Succeeded'
        if ($name -eq 'state.json') { @($world.effects) -join ' ' | Should -Be 'run ["fix.exe"]' }
    }
    It 'ends the agent without a write, when it is held for long: <name> of a machine that <is>' -ForEach @(
        @{ name = 'plan.json'; is = 'begins'; cpus = '4' }
        @{ name = 'plan.json'; is = 'has failed'; cpus = '99' }
        @{ name = 'state.json'; is = 'has failed'; cpus = '99' }
        @{ name = 'state.json'; is = 'has succeeded'; cpus = '4' }
    ) {
        $base = "$TestDrive/long-$name-$($is -replace ' ')"
        $world = New-Machine $base $cpus
        $root = "$base/C/ProgramData/capwin"
        if ($is -ne 'begins') { Invoke-Start $world $base }
        if (Test-Path "$base/done") { Remove-Item "$base/done" }
        Start-Later $world
        $world.effects = @()
        $before = Get-Content-Of $root
        $script:Held = Lock-File "$root/$name"
        try { Invoke-Start $world $base } finally { $script:Held.Dispose() }
        @($world.effects) | Should -BeNullOrEmpty
        Get-Content-Of $root | Should -Be $before
        Test-Path "$base/done" | Should -BeFalse
    }
}

Describe 'a state that is lost' {
    It 'never ends in success beside an emptied plan: <how>, of a machine that has <is>' -ForEach @(
        @{ how = 'damaged'; is = 'failed'; cpus = '99' }, @{ how = 'removed'; is = 'failed'; cpus = '99' }
        @{ how = 'damaged'; is = 'succeeded'; cpus = '4' }, @{ how = 'of another machine'; is = 'failed'; cpus = '99' }
    ) {
        $base = "$TestDrive/lost-$($how -replace ' ')-$is"
        $world = New-Machine $base $cpus
        $root = "$base/C/ProgramData/capwin"
        Invoke-Start $world $base
        if (Test-Path "$base/done") { Remove-Item "$base/done" }
        switch ($how) {
            'damaged' { Set-Content -Path "$root/state.json" -Value '{"uid":"u","state":"Fai' }
            'removed' { Remove-Item "$root/state.json" }
            default { Set-Content -Path "$root/state.json" -Value '{"uid":"other","state":"Running"}' }
        }
        Start-Later $world
        $world.effects = @()
        $before = Get-Content-Of $root
        Invoke-Start $world $base
        @($world.effects) | Should -BeNullOrEmpty
        Get-Content-Of $root | Should -Be $before
        Test-Path "$base/done" | Should -BeFalse
        Get-Content -Raw "$root/agent.log" | Should -Match 'its state is lost'
    }
    It 'is the one beside it, where an end has taken the old one away' {
        $base = "$TestDrive/beside"
        $world = New-Machine $base
        $root = "$base/C/ProgramData/capwin"
        Invoke-Start $world $base
        foreach ($name in 'state.json', 'plan.json') { Move-Item -Path "$root/$name" -Destination "$root/$name.$('0' * 32).capwin-new" }
        Start-Later $world
        $world.effects = @()
        Invoke-Start $world $base
        @($world.effects) -join ' ' | Should -Be 'run ["fix.exe"]'
        (Get-Content -Raw "$root/state.json" | ConvertFrom-Json).boot.state | Should -Be 'Succeeded'
        @(Get-ChildItem $root -Filter *.capwin-new) | Should -BeNullOrEmpty
    }
    It 'begins the bootstrap again while the plan is whole' {
        $base = "$TestDrive/again"
        $world = New-Machine $base
        $root = "$base/C/ProgramData/capwin"
        Set-Content -Path "$root/state.json" -Value '{"uid":"u","sta'
        Invoke-Start $world $base
        (Get-Content -Raw "$root/state.json" | ConvertFrom-Json).state | Should -Be 'Succeeded'
    }
}

Describe 'what cannot be erased' {
    It 'is erased at the next start: <what>' -ForEach @(
        @{ what = 'a copy of the plan'; late = $false }, @{ what = 'a login of the report'; late = $true }
    ) {
        $base = "$TestDrive/erase-$late"
        $world = New-Machine $base
        $root = "$base/C/ProgramData/capwin"
        $plan = Read-Table "$root/plan.json"
        $plan.Remove('everyBoot')
        $null = New-Item -ItemType Directory "$base/C/secret"
        Set-Content -Path "$base/C/secret/token" -Value 'x'
        $channel = @{ do = 'replace'; argv = @('kubectl.exe'); logins = @(); body = @{}; erase = @("$base/C/secret/tok*") }
        if ($late) { $plan.report = @($channel) } else { $plan.erase = @("$base/C/secret/tok*") }
        Set-Content -Path "$root/plan.json" -Value (ConvertTo-Json $plan -Depth 9)
        $world.throws = @{ 'Clear-Path' = 'in use' }
        Invoke-Start $world $base
        (Get-Content -Raw "$root/state.json" | ConvertFrom-Json).state | Should -Be 'Succeeded'
        Test-Path "$base/C/secret/token" | Should -BeTrue
        @($world.effects) | Should -Not -Contain 'task.disable capwin-agent' -Because 'the next start needs the task'
        $world.throws = @{}
        Start-Later $world
        Invoke-Start $world $base
        Test-Path "$base/C/secret/token" | Should -BeFalse
        $world.effects[-1] | Should -Be 'task.disable capwin-agent'
        Get-Content -Raw "$root/plan.json" | Should -Not -Match '"erase":\["[^]]*\],"(machine|phases|version)'
    }
    It 'may be a part of a file that never got its name' {
        $base = "$TestDrive/part"
        $world = New-Machine $base
        $null = New-Item -ItemType Directory "$base/C/secret"
        Set-Content -Path "$base/C/secret/token.$('a' * 32).capwin-new" -Value 'x'
        $root = "$base/C/ProgramData/capwin"
        $plan = Read-Table "$root/plan.json"
        $plan.erase = @("$base/C/secret/token")
        Set-Content -Path "$root/plan.json" -Value (ConvertTo-Json $plan -Depth 9)
        Invoke-Start $world $base
        @(Get-ChildItem "$base/C/secret") | Should -BeNullOrEmpty
    }
    It 'stands in the way of no other: <name>' -ForEach @(
        @{ name = 'a fact that is not known'; pattern = @('C:\none\', @{ fact = 'none' }) }
    ) {
        $base = "$TestDrive/other"
        $world = New-Machine $base '99'
        $null = New-Item -ItemType Directory "$base/C/secret"
        Set-Content -Path "$base/C/secret/token" -Value 'x'
        $root = "$base/C/ProgramData/capwin"
        $plan = Read-Table "$root/plan.json"
        $plan.erase = @($pattern, "$base/C/secret/token")
        Set-Content -Path "$root/plan.json" -Value (ConvertTo-Json $plan -Depth 9)
        Invoke-Start $world $base
        Test-Path "$base/C/secret/token" | Should -BeFalse
        Get-Content -Raw "$root/report.json" | Should -Match "erase: fact 'none' is not known"
    }
}

Describe 'a file that cannot get its name' {
    It 'leaves no copy behind' {
        $null = New-Item -ItemType Directory -Force "$TestDrive/name/a.txt/not-a-file"
        . "$NodePlan/agent.ps1" -Root "$TestDrive/name" -NoRun
        . "$NodePlan/steps.ps1"
        function Start-Sleep([int]$Seconds, [int]$Milliseconds) { $null = $Seconds, $Milliseconds }
        { Save-File "$TestDrive/name/a.txt" ([byte[]](1)) '' } | Should -Throw
        @(Get-ChildItem "$TestDrive/name" -File -Filter *.capwin-new) | Should -BeNullOrEmpty
    }
}
