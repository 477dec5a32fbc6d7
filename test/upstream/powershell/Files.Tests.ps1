# Files, values and JSON, for real.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

BeforeAll {
    . "$PSScriptRoot/real.ps1"
}

Describe 'values' {
    It 'compares versions by number' {
        Compare-Version '1.36.10' 'v1.36.9' | Should -Be 1
        Compare-Version 'v1.36' '1.36.0' | Should -Be 0
        Compare-Version '10.0.20348.1' '10.0.20348.2' | Should -Be -1
        Compare-Version '1.37.0-rc.1' '1.37' | Should -Be 0
        Compare-Version '' '1' | Should -Be -1
    }
    It 'keeps lists of one and empty lists' {
        [IO.File]::WriteAllText("$TestDrive/l.json", '{"one":["a"],"none":[],"deep":{"x":[{"y":["z"]}]},"n":null,"b":false}')
        $table = Read-Json "$TestDrive/l.json"
        , $table['one'] | Should -BeOfType [array]
        $table['one'].Count | Should -Be 1
        $table['none'].Count | Should -Be 0
        $table['deep']['x'][0]['y'][0] | Should -Be 'z'
        $table['b'] | Should -BeFalse
        $table['missing'] | Should -BeNullOrEmpty
    }
    It 'reads nothing from a broken file' {
        [IO.File]::WriteAllText("$TestDrive/b.json", '{"a":')
        Read-Json "$TestDrive/b.json" | Should -BeNullOrEmpty
    }
}

Describe 'files' {
    It 'leaves the old or the new content, and no rest' {
        Save-File "$TestDrive/f/a.txt" ([byte[]](1, 2)) ''
        [IO.File]::WriteAllText("$TestDrive/f/a.txt.0123.capwin-new", 'an end in the middle')
        Save-File "$TestDrive/f/a.txt" ([byte[]](3)) ''
        [IO.File]::ReadAllBytes("$TestDrive/f/a.txt") | Should -Be 3
        @(Get-ChildItem "$TestDrive/f").Count | Should -Be 1
    }
    It 'makes a file with its access, under a name of its own each time' {
        $script:Made = @()
        function New-OwnFile([string]$Path, [string]$Sddl) {
            $script:Made += "$Path $Sddl"
            New-Object IO.FileStream($Path, [IO.FileMode]::CreateNew)
        }
        Save-File "$TestDrive/f/secret" ([byte[]](1, 2, 3)) 'D:'
        Save-File "$TestDrive/f/secret" ([byte[]](4)) 'D:'
        $Made.Count | Should -Be 2
        $Made[0] | Should -Match 'secret\.[0-9a-f]{32}\.capwin-new D:$'
        $Made[0] | Should -Not -Be $Made[1]
    }
    It 'makes no file that is there already' {
        [IO.File]::WriteAllText("$TestDrive/f/there", 'of another')
        { New-OwnFile "$TestDrive/f/there" '' } | Should -Throw
        [IO.File]::ReadAllText("$TestDrive/f/there") | Should -Be 'of another'
    }
    It 'writes an empty file' {
        Invoke-FileStep @{ path = "$TestDrive/f/empty"; text = '' }
        (Get-Item "$TestDrive/f/empty").Length | Should -Be 0
    }
    It 'refuses a link on the way' {
        $null = New-Item -ItemType Directory -Force -Path "$TestDrive/theirs"
        $null = New-Item -ItemType SymbolicLink -Path "$TestDrive/ours" -Target "$TestDrive/theirs"
        { Assert-NoLink "$TestDrive/ours/a" } | Should -Throw '*a link is in the way: ours*'
        { Assert-NoLink "$TestDrive/theirs/a" } | Should -Not -Throw
    }
    It 'has a folder of its own for what programs unpack' {
        $was = $env:TEMP, $env:TMP
        try {
            Move-Temp
            $env:TEMP | Should -Be (Join-Path $Agent.Root 'temp')
            $env:TMP | Should -Be $env:TEMP
            Test-Path $env:TEMP | Should -BeTrue
        }
        finally { $env:TEMP, $env:TMP = $was }
    }
    It 'removes a link, not what it points to' {
        $null = New-Item -ItemType Directory -Force -Path "$TestDrive/target", "$TestDrive/tree"
        [IO.File]::WriteAllText("$TestDrive/target/keep", 'x')
        $null = New-Item -ItemType SymbolicLink -Path "$TestDrive/tree/link" -Target "$TestDrive/target"
        Clear-Path "$TestDrive/tree"
        Test-Path "$TestDrive/tree" | Should -BeFalse
        Test-Path "$TestDrive/target/keep" | Should -BeTrue
    }
    It 'tries a rename again that was refused, and gives up after 5 s' {
        $null = [IO.Directory]::CreateDirectory("$TestDrive/g/a.txt/not-a-file")
        $clock = [Diagnostics.Stopwatch]::StartNew()
        { Save-File "$TestDrive/g/a.txt" ([byte[]](1)) '' } | Should -Throw
        $clock.Elapsed.TotalSeconds | Should -BeGreaterThan 4
        $clock.Elapsed.TotalSeconds | Should -BeLessThan 15
    }
}

Describe 'files on a disk of Windows' {
    BeforeAll {
        . "$PSScriptRoot/disk.ps1"
        [IO.File]::WriteAllText("$TestDrive/disk.ps1", (Get-DiskText (Get-PackedText '') "$TestDrive/System32"))
        . "$TestDrive/disk.ps1" -Root "$TestDrive/root" -NoRun
        function Start-Sleep([int]$Milliseconds) { $null = $Milliseconds }
        New-State
        function New-ReadOnly([string]$Path) {
            $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($Path))
            [IO.File]::WriteAllText($Path, 'old')
            [IO.File]::SetAttributes($Path, 'ReadOnly')
        }
    }
    BeforeEach {
        [WindowsFile]::Held = @{}
        [WindowsFile]::Calls.Clear()
    }
    It 'removes a file that is read only' {
        New-ReadOnly "$TestDrive/w/a.txt"
        Clear-Path "$TestDrive/w/a.txt"
        Test-Path "$TestDrive/w/a.txt" | Should -BeFalse
    }
    It 'makes a file anew, and writes over one of its own, that is read only' {
        New-ReadOnly "$TestDrive/w/b.txt"
        Save-File "$TestDrive/w/b.txt" ([byte[]](65)) ''
        [IO.File]::ReadAllText("$TestDrive/w/b.txt") | Should -Be 'A'
        New-ReadOnly "$TestDrive/w/state.json"
        Save-Text "$TestDrive/w/state.json" 'new'
        [IO.File]::ReadAllText("$TestDrive/w/state.json") | Should -Be 'new'
    }
    It 'looks for bare names among the programs of Windows alone' {
        $null = [IO.Directory]::CreateDirectory("$TestDrive/System32")
        [IO.File]::WriteAllText("$TestDrive/System32/sc.exe", '')
        Find-Program '/bin/sh' | Should -Be '/bin/sh'
        Find-Program 'sc.exe' | Should -Be "$TestDrive/System32/sc.exe"
        { Find-Program 'pwsh' } | Should -Throw 'The system cannot find the file specified: pwsh'
    }
    It 'moves where there is no file, and replaces where there is one' {
        Save-Text "$TestDrive/w/new.json" 'one'
        Save-Text "$TestDrive/w/new.json" 'two'
        [IO.File]::ReadAllText("$TestDrive/w/new.json") | Should -Be 'two'
        @([WindowsFile]::Calls -match '^(move|replace)' -replace ' .*') -join ' ' | Should -Be 'move replace'
    }
    It 'writes a file that another holds for moments' {
        Save-Text "$TestDrive/w/held.json" 'one'
        [WindowsFile]::Held["$TestDrive/w/held.json"] = 3
        Save-Text "$TestDrive/w/held.json" 'two'
        [IO.File]::ReadAllText("$TestDrive/w/held.json") | Should -Be 'two'
    }
    It 'gives up on a file that stays held, and says why' {
        [IO.File]::WriteAllText("$TestDrive/w/stays.txt", 'one')
        [WindowsFile]::Held["$TestDrive/w/stays.txt"] = 1000
        { Save-File "$TestDrive/w/stays.txt" ([byte[]](65)) '' } | Should -Throw '*being used by another process*'
        [IO.File]::ReadAllText("$TestDrive/w/stays.txt") | Should -Be 'one'
    }
}
