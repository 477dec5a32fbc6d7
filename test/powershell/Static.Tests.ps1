# What can be said of the text alone.
BeforeDiscovery { $script:Files = 'agent.ps1', 'steps.ps1', 'loader.ps1' | ForEach-Object { @{ Name = $_ } } }
BeforeAll {
    $script:Here = (Resolve-Path "$PSScriptRoot/../../bootstrap/scripts").Path
    function Get-Tree($Name) { [Management.Automation.Language.Parser]::ParseFile("$Here/$Name", [ref]$null, [ref]$null) }
    function Find-Node($Tree, $Type) { $Tree.FindAll({ param($n) $n.GetType().Name -eq $Type }.GetNewClosure(), $true) }
}

Describe '<Name>' -ForEach $script:Files {
    It 'is pure ASCII, parses, and is at most 900 lines' {
        [IO.File]::ReadAllBytes("$Here/$Name") | Where-Object { $_ -gt 126 -or ($_ -lt 32 -and $_ -ne 10) } | Should -BeNullOrEmpty
        $errors = $null
        $null = [Management.Automation.Language.Parser]::ParseFile("$Here/$Name", [ref]$null, [ref]$errors)
        $errors | Should -BeNullOrEmpty
        (Get-Content "$Here/$Name").Count | Should -BeLessOrEqual 900
    }
    It 'has no function over 40 lines' {
        foreach ($f in Find-Node (Get-Tree $Name) 'FunctionDefinitionAst') { ($f.Extent.EndLineNumber - $f.Extent.StartLineNumber + 1) | Should -BeLessOrEqual 40 -Because $f.Name }
    }
    It 'turns no data into code' {
        $commands = @(Find-Node (Get-Tree $Name) 'CommandAst')
        $commands | ForEach-Object { $_.GetCommandName() } | Where-Object { $_ -in 'Invoke-Expression', 'iex', 'Invoke-Command', 'New-Module' } | Should -BeNullOrEmpty
        Get-Content -Raw "$Here/$Name" | Should -Not -Match 'ScriptBlock\]::Create|ExpandString'
        # Beside the agent: its own file, and one constant line.
        @($commands | Where-Object { $_.GetCommandName() -eq 'AddScript' }).Count | Should -Be 0
        [regex]::Matches((Get-Content -Raw "$Here/$Name"), 'AddScript\((.+?)(?:, \$)') | ForEach-Object { $_.Groups[1].Value } | Where-Object { $_ -notin '[IO.File]::ReadAllText($PSCommandPath)', '$call' } | Should -BeNullOrEmpty
        # "&" only on the dispatch table and on scriptblocks of this file
        $called = @($commands | Where-Object { $_.InvocationOperator -eq 'Ampersand' } | ForEach-Object { $_.CommandElements[0].Extent.Text })
        $called | Where-Object { $_ -notin '$act', '$Condition', '$Do' } | Should -BeNullOrEmpty
    }
}

Describe 'agent' {
    BeforeAll {
        $script:Agent = @(Find-Node (Get-Tree 'agent.ps1') 'FunctionDefinitionAst') + @(Find-Node (Get-Tree 'steps.ps1') 'FunctionDefinitionAst')
        $script:Used = @(foreach ($n in 'agent.ps1', 'steps.ps1') { Find-Node (Get-Tree $n) 'CommandAst' | ForEach-Object { $_.GetCommandName() } }) | Where-Object { $_ } | Sort-Object -Unique
        $script:Stubs = @([Management.Automation.Language.Parser]::ParseFile("$PSScriptRoot/stubs.ps1", [ref]$null, [ref]$null).FindAll({ param($n) $n -is [Management.Automation.Language.FunctionDefinitionAst] }, $true) | ForEach-Object Name)
    }
    It 'has a function for every kind, and a kind for every function' {
        $table = [regex]::Match((Get-Content -Raw "$Here/agent.ps1"), '(?s)\$StepKinds = @\{(.*?)\n\}').Groups[1].Value
        $kinds = [regex]::Matches($table, '(\w+) = [^;\n]+') | ForEach-Object { "Invoke-$($_.Groups[1].Value)Step" } | Sort-Object
        $have = @($Agent.Name | Where-Object { $_ -match '^Invoke-\w+Step$' -and $_ -notin 'Invoke-PlanStep', 'Invoke-AlwaysStep' } | Sort-Object)
        $kinds -join ' ' | Should -Be ($have -join ' ')
        @($have).Count | Should -Be 22
    }
    It 'uses no Windows command that the stubs do not know' {
        $portable = 'Add-Type', 'ConvertFrom-Json', 'ConvertTo-Json', 'ForEach-Object', 'Join-Path', 'New-Object', 'Remove-TypeData', 'Select-Object', 'Set-StrictMode', 'Sort-Object', 'Where-Object', 'Write-Verbose'
        $Used | Where-Object { $_ -notin $Agent.Name -and $_ -notin $Stubs -and $_ -notin $portable } | Should -BeNullOrEmpty
    }
    It 'reaches .NET that only Windows has through doors, and every door is stubbed' {
        foreach ($f in $Agent | Where-Object { $_.Extent.Text -match 'Microsoft\.Win32\.Registry|Capwin\.Native|NamedPipeClientStream|Security\.AccessControl' -and $_.Name -notin 'Add-NativeType' }) { $f.Name | Should -BeIn $Stubs }
    }
    It 'calls no function that does not exist' {
        # a typo would be found only when its step runs
        $known = @($Agent.Name) + $Stubs
        $Used | Where-Object { $_ -notin $known -and -not (Get-Command $_ -ErrorAction SilentlyContinue) } | Should -BeNullOrEmpty
    }
    It 'loads functions only, with -NoRun' {
        $null = New-Item -ItemType Directory -Force "$TestDrive/none"
        . "$Here/agent.ps1" -Root "$TestDrive/none" -NoRun
        . "$Here/steps.ps1"
        @(Get-ChildItem "$TestDrive/none").Count | Should -Be 0
    }
}
