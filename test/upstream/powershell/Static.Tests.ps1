# What can be said of the text alone.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

BeforeDiscovery { $files = 'agent.ps1', 'steps.ps1', 'loader.ps1' | ForEach-Object { @{ Name = $_ } } }
BeforeAll {
    $script:Here = if ($env:CAPWIN_SCRIPTS) { $env:CAPWIN_SCRIPTS } else { (Resolve-Path "$PSScriptRoot/../../../bootstrap/scripts").Path }
    function Get-Tree([string]$Path) { [Management.Automation.Language.Parser]::ParseFile($Path, [ref]$null, [ref]$null) }
    function Find-Node($Tree, [string]$Type) { $Tree.FindAll({ param($Node) $Node.GetType().Name -eq $Type }.GetNewClosure(), $true) }
    function Get-Function([string[]]$Paths) { foreach ($path in $Paths) { Find-Node (Get-Tree $path) 'FunctionDefinitionAst' } }
    function Get-Called([string[]]$Paths) {
        $all = foreach ($path in $Paths) { Find-Node (Get-Tree $path) 'CommandAst' | ForEach-Object { $_.GetCommandName() } }
        $all | Where-Object { $_ } | Sort-Object -Unique
    }
}

Describe '<Name>' -ForEach $files {
    It 'is pure ASCII, parses, and is at most 900 lines' {
        [IO.File]::ReadAllBytes("$Here/$Name") | Where-Object { $_ -gt 126 -or ($_ -lt 32 -and $_ -ne 10) } | Should -BeNullOrEmpty
        $errors = $null
        $null = [Management.Automation.Language.Parser]::ParseFile("$Here/$Name", [ref]$null, [ref]$errors)
        $errors | Should -BeNullOrEmpty
        @(Get-Content "$Here/$Name").Count | Should -BeLessOrEqual 900
    }
    It 'has no function over 40 lines' {
        foreach ($one in Get-Function "$Here/$Name") {
            $one.Extent.EndLineNumber - $one.Extent.StartLineNumber + 1 | Should -BeLessOrEqual 40 -Because $one.Name
        }
    }
    It 'turns no data into code' {
        $text = [IO.File]::ReadAllText("$Here/$Name")
        $commands = @(Find-Node (Get-Tree "$Here/$Name") 'CommandAst')
        $never = 'Invoke-Expression', 'iex', 'Invoke-Command', 'New-Module', 'AddScript'
        $commands | ForEach-Object { $_.GetCommandName() } | Where-Object { $_ -in $never } | Should -BeNullOrEmpty
        $text | Should -Not -Match 'ScriptBlock\]::Create|ExpandString'
        # Aside: its own file, and one constant line.
        $aside = [regex]::Matches($text, 'AddScript\((.+?)(?:, \$)') | ForEach-Object { $_.Groups[1].Value }
        $aside | Where-Object { $_ -notin '[IO.File]::ReadAllText($PSCommandPath)', '$call' } | Should -BeNullOrEmpty
        # "&" only on the dispatch table and on script blocks of this file.
        $called = @($commands | Where-Object { $_.InvocationOperator -eq 'Ampersand' })
        $texts = $called | ForEach-Object { $_.CommandElements[0].Extent.Text }
        $texts | Where-Object { $_ -notin '$act', '$Condition', '$Do' } | Should -BeNullOrEmpty
    }
}

Describe 'agent' {
    BeforeAll {
        $parts = "$Here/agent.ps1", "$Here/steps.ps1"
        $script:Own = @(Get-Function $parts)
        $script:Used = @(Get-Called $parts)
        $script:Stubs = @((Get-Function (Get-ChildItem "$PSScriptRoot/stubs" -Filter *.ps1).FullName).Name)
    }
    It 'has a function for every kind, and a kind for every function' {
        $table = [regex]::Match([IO.File]::ReadAllText("$Here/agent.ps1"), '(?s)\$StepKinds = @\{(.*?)\n\}').Groups[1].Value
        $kinds = [regex]::Matches($table, '(\w+) = [^;\n]+') | ForEach-Object { "Invoke-$($_.Groups[1].Value)Step" } | Sort-Object
        $none = 'Invoke-PlanStep', 'Invoke-AlwaysStep'
        $steps = $Own.Name | Where-Object { $_ -match '^Invoke-\w+Step$' -and $_ -notin $none } | Sort-Object
        $kinds -join ' ' | Should -Be ($steps -join ' ')
        @($steps).Count | Should -Be 22
    }
    It 'uses no Windows command that the stand-ins do not know' {
        $portable = 'Add-Type', 'ConvertFrom-Json', 'ConvertTo-Json', 'ForEach-Object', 'Import-Module', 'Join-Path', 'New-Object'
        $portable += 'Remove-TypeData', 'Select-Object', 'Set-StrictMode', 'Sort-Object', 'Where-Object', 'Write-Verbose'
        $Used | Where-Object { $_ -notin $Own.Name -and $_ -notin $Stubs -and $_ -notin $portable } | Should -BeNullOrEmpty
    }
    It 'reaches .NET that only Windows has through doors, and every door has a stand-in' {
        $windows = 'Microsoft\.Win32\.Registry|Capwin\.Native|NamedPipeClientStream|Security\.AccessControl'
        foreach ($one in $Own | Where-Object { $_.Extent.Text -match $windows -and $_.Name -ne 'Add-NativeType' }) {
            $one.Name | Should -BeIn $Stubs
        }
    }
    It 'calls no function that does not exist' {
        # A mistake in a name would be found only when its step runs.
        $known = @($Own.Name) + $Stubs
        # Silent: that there is none is the answer.
        $Used | Where-Object { $_ -notin $known -and -not (Get-Command $_ -ErrorAction SilentlyContinue) } | Should -BeNullOrEmpty
    }
    It 'has a row of strictness for each command of Windows, but for those that ask a clock or a server' {
        $rows = [IO.File]::ReadAllText("$PSScriptRoot/README.md") -split '## How strict', 2 | Select-Object -Last 1
        $free = 'Start-Sleep', 'Invoke-Aside', 'Get-Elapsed', 'Save-File', 'Add-Folder', 'Clear-Path', 'Move-OverFile'
        $free += 'Test-TlsServer', 'Get-ClockOffset', 'Open-RegistryKey'
        $doors = @{
            'Invoke-Program' = 'a program'; 'Send-HnsCall' = 'HNSCall'; 'Read-Registry' = 'GetValue'; 'Write-Registry' = 'SetValue'
            'Clear-RegistryKey' = 'DeleteSubKeyTree'; 'Test-RegistryKey' = 'registry keys'; 'Write-BootMarker' = 'a volatile key'
            'Test-BootMarker' = 'a volatile key'; 'New-OwnFile' = 'a file made with an access'; 'Test-Pipe' = 'a named pipe'
            'New-OwnFolder' = 'a folder made with an access'; 'Add-UserProfile' = 'CreateProfile'
        }
        $played = @($Used) + @(Get-Called "$Here/loader.ps1") | Where-Object { $_ -in $Stubs -and $_ -notin $free } | Sort-Object -Unique
        foreach ($name in $played) {
            $word = if ($doors[$name]) { $doors[$name] } else { $name -replace '^(Get|Set|Add|Disable|Stop|Start|Remove)-', '' }
            if ($name -like 'New-ScheduledTask*') { continue }
            if (-not $rows.Contains($word)) { throw "no row speaks of $name" }
        }
    }
    It 'loads functions only, with -NoRun' {
        $null = New-Item -ItemType Directory -Force -Path "$TestDrive/none"
        . "$Here/agent.ps1" -Root "$TestDrive/none" -NoRun
        . "$Here/steps.ps1"
        @(Get-ChildItem "$TestDrive/none").Count | Should -Be 0
    }
}
