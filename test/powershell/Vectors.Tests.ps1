# Every vector: the run, the same plan again in the world it left, and every command it uses throwing. Known differences: README of the vectors.
BeforeDiscovery {
    $folder = Join-Path $PSScriptRoot '../../bootstrap/plan/vectors'
    $known = @([regex]::Matches((Get-Content -Raw "$folder/README.md"), '(?m)^\| (\d+-[a-z0-9-]+) \|') | ForEach-Object { $_.Groups[1].Value })
    $script:Vectors = foreach ($file in Get-ChildItem $folder -Filter *.json) { @{ File = $file.FullName; Name = $file.BaseName; Differs = $file.BaseName -in $known } }
}
BeforeAll {
    . "$PSScriptRoot/world.ps1"
    function Read-Vector($File) { Get-Content -Raw $File | ConvertFrom-Json -AsHashtable }
    function ConvertTo-Path($Base, $Path) { $Base + '/C/' + $Path.Substring(3).Replace('\', '/') }
    function ConvertTo-Sorted($Node) {
        if ($Node -is [array]) { return '[' + (@(foreach ($item in $Node) { ConvertTo-Sorted $item }) -join ',') + ']' }
        if ($Node -isnot [Collections.IDictionary]) { return (ConvertTo-Json $Node -Compress) }
        '{' + (@(foreach ($key in @($Node.Keys | Sort-Object)) { "$key=" + (ConvertTo-Sorted $Node[$key]) }) -join ',') + '}'
    }
    # What a second run may still do: programs of the user, checks of the end state, the end itself.
    $script:Again = 'run *', '  env *', '  in *', 'task.disable *', 'boot', 'post *', 'file C:\run\cluster-api\*'
    $script:Never = 'run `["sc.exe","create"*', 'run `["sc.exe","config"*'
    # A channel, the task and the pause may fail without failing the bootstrap.
    $script:Harmless = 'Disable-ScheduledTask', 'Invoke-WebRequest', 'rpctool.exe', 'C:\k\kubectl.exe', 'wevtutil.exe', 'Start-Sleep'
}

Describe 'vector <Name>' -ForEach $script:Vectors {
    It 'ends as expected' {
        if ($Differs) { Set-ItResult -Skipped -Because 'it is a known difference' }
        $vector = Read-Vector $File
        $expect = $vector.expect
        $base = "$TestDrive/run"
        $got = Invoke-World $vector $base
        foreach ($field in 'state', 'reason', 'message', 'exitCode', 'reboots', 'step', 'elapsed') { $got.report[$field] | Should -Be $expect[$field] -Because $field }
        $got.report.phase.name | Should -Be $expect.phase.name
        @($got.report.lastLines) -join "`n" | Should -Be (@($expect.lastLines) -join "`n")
        @($got.report.warnings) -join "`n" | Should -Be (@($expect.warnings) -join "`n")
        @($got.effects) -join "`n" | Should -Be (@($expect.effects) -join "`n")
        $got.sentinel | Should -Be $expect.sentinel
        $got.sentinel | Should -Be ($got.report.state -eq 'Succeeded')
        foreach ($name in @(if ($expect['facts']) { $expect.facts.Keys })) { $got.state.facts[$name] | Should -Be $expect.facts[$name] }
        foreach ($name in @(if ($expect['durations']) { $expect.durations.Keys })) { $got.report.durations[$name] | Should -Be $expect.durations[$name] }
        foreach ($name in @(if ($expect['reportFacts']) { $expect.reportFacts.Keys })) { $got.report.facts[$name] | Should -Be $expect.reportFacts[$name] }
        foreach ($path in @($expect.gone)) { if ($path) { Test-Path -LiteralPath (ConvertTo-Path $base $path) | Should -BeFalse } }
        foreach ($path in @($expect.exists)) { if ($path) { Test-Path -LiteralPath (ConvertTo-Path $base $path) | Should -BeTrue } }
        foreach ($path in @(if ($expect['json']) { $expect.json.Keys })) {
            $have = Get-Content -Raw -LiteralPath (ConvertTo-Path $base $path) | ConvertFrom-Json -AsHashtable
            ConvertTo-Sorted $have | Should -Be (ConvertTo-Sorted $expect.json[$path])
        }
        $kept = Get-Content -Raw "$($got.root)/plan.json"
        if (-not $expect['keepsSteps']) { $kept | Should -Not -Match '"steps"' }
        @(($kept | ConvertFrom-Json).phases).Count | Should -Be 0
        $got.report.ContainsKey('boot') | Should -Be $expect.ContainsKey('boot')
        foreach ($field in @(if ($expect['boot']) { $expect.boot.Keys })) { $got.report.boot[$field] | Should -Be $expect.boot[$field] -Because "boot.$field" }
        if ($expect['boot']) { $got.report.boot.at | Should -Match '^\d{8}T\d{6}Z$' }
        (Get-Content -Raw "$($got.root)/report.json").Length | Should -BeLessOrEqual 16384
    }

    It 'changes nothing the second time' {
        $vector = Read-Vector $File
        if ($vector.expect.state -ne 'Succeeded') { return }
        $got = Invoke-World $vector "$TestDrive/again"
        Remove-Item "$($got.root)/state.json"
        $got.world.effects = @()
        $got.world.Remove('starts')
        $got.world.commands = @((Read-Vector $File).world.commands | Where-Object { $_ })
        $plan = ConvertTo-Json (ConvertTo-RealTree (Read-Vector $File).plan "$TestDrive/again" $false) -Depth 20
        Set-Content "$($got.root)/plan.json" $plan
        $second = Invoke-World @{ world = $got.world } "$TestDrive/again" -Again
        $second.state.state | Should -Be 'Succeeded'
        $changes = foreach ($effect in $second.effects) { if (@($Again | Where-Object { $effect -like $_ }).Count -eq 0 -or @($Never | Where-Object { $effect -like $_ }).Count) { $effect } }
        $changes | Should -BeNullOrEmpty
    }

    It 'survives every command it uses throwing' {
        $first = Invoke-World (Read-Vector $File) "$TestDrive/probe"
        if ($first.state.state -ne 'Succeeded') { return }
        foreach ($command in @($first.world.calls.Keys)) {
            $vector = Read-Vector $File
            if (-not $vector.world) { $vector.world = @{} }
            $vector.world.throws = @{ $command = 'broken here' }
            $vector.world.Remove('throwTimes')
            $base = "$TestDrive/t-$($command -replace '\W')"
            $got = Invoke-World $vector $base
            if ($got.state.state -eq 'Succeeded') {
                $optional = @($got.report.warnings) -match 'broken here' -or ($got.report['boot'] -and $got.report.boot.message -match 'broken here')
                ($command -in $Harmless -or $optional -or (($Name -like '*-report-guestinfo' -or $Name -like '*-report-replace') -and $command -eq 'Invoke-Program')) | Should -BeTrue -Because "$command failed and nobody heard of it"
                continue
            }
            $got.report.state | Should -Be 'Failed' -Because $command
            $got.report.reason | Should -Not -BeNullOrEmpty -Because $command
            $got.report.message | Should -Match 'broken here' -Because $command
            $got.sentinel | Should -Be ($command -eq 'nothing') -Because $command
        }
    }
}
