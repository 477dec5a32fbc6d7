# The scripts that a plan writes to the node: bootstrap/windows. Each runs as it is, but for the types that only Windows has, among
# stand-ins for its commands: to the end, ended at every command, refused at every command, and again.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

BeforeAll {
    Set-StrictMode -Version 2
    $ErrorActionPreference = 'Stop'
    $script:Scripts = (Resolve-Path "$PSScriptRoot/../../bootstrap/windows").Path
    . "$PSScriptRoot/storage.ps1"
    function Reset-Point($At = 0, $How = '') {
        $script:Point = @{ at = $At; how = $How; count = 0; ended = $false; names = @(); watched = ''; watch = $null; seen = $null }
    }
    # The script in a folder of its own, with some of its text replaced.
    function Copy-Script([string]$Name, $Replacing = @()) {
        $text = [IO.File]::ReadAllText("$Scripts/$Name")
        foreach ($pair in $Replacing) {
            $text.Contains($pair[0]) | Should -BeTrue -Because "$Name has $($pair[0])"
            $text = $text.Replace($pair[0], $pair[1])
        }
        $script:Folder = Join-Path $TestDrive ([Guid]::NewGuid().ToString('n'))
        $null = New-Item -ItemType Directory $Folder
        [IO.File]::WriteAllText("$Folder/$Name", $text)
    }
    # Output and exit code; what it throws is the exit code 1 and a sentence, as of powershell.exe -File.
    function Invoke-Script([string]$Name, $Arguments = @()) {
        $file = "$Folder/$Name"
        # A script that ends without exit leaves the exit code of the program before it.
        Set-Variable -Scope Global -Name LASTEXITCODE -Value 0
        try { $out = & $file @Arguments; @{ code = $LASTEXITCODE; text = "$out" } }
        catch { @{ code = 1; text = $_.Exception.Message } }
    }
}

Describe 'datadrive.ps1' {
    BeforeAll {
        function Reset-Machine($Own) {
            $system = New-TestDisk 0 'SYSTEM' @{ style = 'GPT'; parts = @(New-TestPart $BasicData 'NTFS' 'C') }
            $script:Disks = @($system) + @($Own)
            $script:Drives = @()
            Copy-Script 'datadrive.ps1'
            Reset-Point
        }
        function Invoke-Drive($Arguments = @()) { Invoke-Script 'datadrive.ps1' $Arguments }
        function Get-Left { @(Get-ChildItem $Folder -Filter 'data-drive.*' | ForEach-Object Name) -join ' ' }
        # While the run was down another empty disk came, and the numbers changed.
        function Add-EmptyDisk {
            $script:Disks = @($Disks) + @(New-TestDisk 1 'OTHER')
            foreach ($disk in $Disks) { if ($disk.id -eq 'OWN') { $disk.number = 2 } }
        }
        function Assert-Done {
            $own = $Disks[1]
            $own.parts.Count | Should -Be 2
            "$($own.parts[1].fs) $($own.parts[1].letter)" | Should -Be 'NTFS E'
            @($own.acts | Where-Object { $_ -in 'initialize', 'partition' }).Count | Should -Be 2
        }
        $env:CAPWIN_DRIVE = 'E'
        $script:New = { New-TestDisk 1 'OWN' @{ offline = $true; readOnly = $true } }
        Reset-Machine (& $New)
        $env:CAPWIN_FORMAT = 'IfEmpty'
        $null = Invoke-Drive
        $script:Commands = $Point.count
    }
    BeforeEach { $env:CAPWIN_FORMAT = 'IfEmpty' }
    AfterAll { $env:CAPWIN_DRIVE = $env:CAPWIN_FORMAT = $null }

    It 'makes the drive of a disk that is offline and read only, once' {
        Reset-Machine (& $New)
        (Invoke-Drive).code | Should -Be 0
        Assert-Done
        $acts = $Disks[1].acts.Count
        $again = Invoke-Drive
        "$($again.code) $($again.text)" | Should -Be '0 free 102400 MiB'
        (Invoke-Drive 'E').text | Should -Be 'free 102400 MiB'
        $Disks[1].acts.Count | Should -Be $acts
    }
    It 'makes nothing that nobody asked for' {
        Reset-Machine (& $New)
        $env:CAPWIN_FORMAT = ''
        (Invoke-Drive).text | Should -BeLike 'there is no drive E:; use format: IfEmpty*'
        $Disks[1].acts | Should -BeNullOrEmpty
    }
    It 'takes no drive of another kind: <Says>' -ForEach @(
        @{ Kind = 5; Fs = 'CDFS'; Says = '*perhaps a CD-ROM*' }, @{ Kind = 3; Fs = 'FAT32'; Says = "*file system 'FAT32'*" }
        @{ Kind = 3; Fs = $null; Says = "*file system ''*" }
    ) {
        Reset-Machine (& $New)
        $script:Drives = @(@{ letter = 'E'; DriveType = $Kind; FileSystem = $Fs; FreeSpace = $null })
        (Invoke-Drive).text | Should -BeLike $Says
        $Disks[1].acts | Should -BeNullOrEmpty
    }
    It 'does not choose among <Count>' -ForEach @{ Count = 0 }, @{ Count = 2 } {
        Reset-Machine @(for ($at = 1; $at -le $Count; $at++) { New-TestDisk $at "D$at" })
        (Invoke-Drive).text | Should -BeLike "$Count disks have no partitions*"
        Get-Left | Should -BeNullOrEmpty
    }
    It 'takes no disk that it could not find again: <Name>' -ForEach @(
        @{ Name = 'no id'; Id = $null; Other = 'X' }, @{ Name = 'a blank id'; Id = ' '; Other = 'X' }
        @{ Name = 'the id of another disk'; Id = 'X'; Other = 'X' }
    ) {
        $other = New-TestDisk 2 $Other @{ style = 'GPT'; parts = @(New-TestPart $BasicData 'NTFS') }
        $own = New-TestDisk 1 '' @{ offline = $true }
        $own.id = $Id
        Reset-Machine @($own, $other)
        (Invoke-Drive).text | Should -BeLike '*drive E: needs a disk with an id that no other has*'
        "$($own.acts)$($other.acts)$(Get-Left)" | Should -BeNullOrEmpty
    }
    It 'puts a disk back offline that turns out to have partitions' {
        $own = New-TestDisk 1 'OWN' @{ offline = $true; style = 'GPT'; parts = @(New-TestPart $BasicData 'NTFS') }
        Reset-Machine $own
        foreach ($time in 1..2) {
            (Invoke-Drive).text | Should -Be 'disk 1 is not empty; use one without partitions'
            $own.offline | Should -BeTrue
            Get-Left | Should -BeNullOrEmpty
        }
        $own.acts | Where-Object { $_ -notlike 'offline*' } | Should -BeNullOrEmpty
    }
    It 'puts it back whenever it was ended' {
        foreach ($how in 'before', 'after', 'refused') {
            foreach ($at in 1..8) {
                $own = New-TestDisk 1 'OWN' @{ offline = $true; style = 'GPT'; parts = @(New-TestPart $BasicData 'NTFS') }
                Reset-Machine $own
                Reset-Point $at $how
                $null = Invoke-Drive
                Reset-Point
                (Invoke-Drive).text | Should -Be 'disk 1 is not empty; use one without partitions' -Because "$how $at"
                $own.offline | Should -BeTrue -Because "$how $at"
                $own.acts | Where-Object { $_ -notlike 'offline*' } | Should -BeNullOrEmpty -Because "$how $at"
            }
        }
    }
    It 'goes on after every half, with its own disk alone' {
        $Commands | Should -BeGreaterThan 12
        foreach ($how in 'before', 'after', 'refused') {
            foreach ($at in 1..$Commands) {
                Reset-Machine (& $New)
                Reset-Point $at $how
                (Invoke-Drive).code | Should -Be 1 -Because "$how $at"
                $begun = (Get-Left) -match 'seen|ours'
                $where = "$how $at $($Point.names[-1])"
                Reset-Point
                if ($begun) { Add-EmptyDisk }
                $last = Invoke-Drive
                $last.code | Should -Be 0 -Because "$where`: $($last.text)"
                Assert-Done
                if ($begun) { $Disks[2].acts | Should -BeNullOrEmpty -Because $where }
            }
        }
    }
    It 'has written down which disk it takes before it touches one: <First>' -ForEach @(
        @{ First = 'Set-Disk'; Offline = $true; Mark = 'seen' }, @{ First = 'Initialize-Disk'; Offline = $false; Mark = 'ours' }
    ) {
        Reset-Machine (New-TestDisk 1 'OWN' @{ offline = $Offline })
        $Point.watched, $Point.watch = $First, { [IO.File]::ReadAllText("$Folder/data-drive.$Mark") }
        (Invoke-Drive).code | Should -Be 0
        $Point.seen | Should -Be 'OWN'
        $Disks[1].acts[0] | Should -Match $(if ($Offline) { 'offline False' } else { 'initialize' })
    }
    It 'takes no other disk when its own is gone' {
        Reset-Machine (& $New)
        Reset-Point 6 'after'
        $null = Invoke-Drive
        Reset-Point
        $script:Disks = @($Disks[0], (New-TestDisk 1 'OTHER'))
        (Invoke-Drive).text | Should -BeLike "0 disks have the UniqueId 'OWN'*"
        $Disks[1].acts | Should -BeNullOrEmpty
    }
    It 'leaves a disk alone that somebody has divided meanwhile' {
        Reset-Machine (New-TestDisk 1 'OWN')
        Reset-Point 4 'after'
        $null = Invoke-Drive
        Reset-Point
        $Disks[1].style = 'GPT'
        $Disks[1].parts = @((New-TestPart $BasicData 'NTFS'), (New-TestPart $BasicData 'NTFS'))
        $acts = $Disks[1].acts.Count
        (Invoke-Drive).text | Should -BeLike 'disk 1 has got 2 partitions*'
        $Disks[1].acts.Count | Should -Be $acts
    }
}

Describe 'domainjoin.ps1' {
    BeforeAll {
        $script:Secret = 'p\u00e4ss "w0rd" $(x) `n'
        # Windows names the new domain at once. It keeps a volatile key until the next start.
        function Get-CimInstance {
            [CmdletBinding()] param($ClassName)
            Enter-Point "Get-CimInstance $ClassName"
            [pscustomobject]@{ PartOfDomain = $Member.of -ne 'WORKGROUP'; Domain = $Member.of }
            Exit-Point
        }
        function Add-Computer {
            [CmdletBinding()] param($DomainName, $Credential, [switch]$Force, $OUPath)
            Enter-Point 'Add-Computer'
            if ($Member.of -eq $DomainName) { throw 'the computer is in that domain already' }
            $Member.joins += "$DomainName $($Credential.UserName) $($Credential.GetNetworkCredential().Password) [$OUPath] $Force"
            $Member.of = $DomainName
            Exit-Point
        }
        function New-Object { $Member.told += "$(@($args | ForEach-Object { $_ }))"; Microsoft.PowerShell.Utility\New-Object @args }
        $script:Hive = [pscustomobject]@{}
        $Hive | Add-Member -MemberType ScriptMethod -Name OpenSubKey -Value { param($Key) if ($Member.keys -contains $Key) { 'a key' } }
        $Hive | Add-Member -MemberType ScriptMethod -Name CreateSubKey -Value { param($Key, $Writable, $Options)
            Enter-Point 'CreateSubKey'
            "$Writable $Options" | Should -Be 'True Volatile'
            if ($Member.keys -notcontains $Key) { $Member.keys += $Key }
            [IO.MemoryStream]::new()
            Exit-Point
        }
        function Reset-Member([string]$Of = 'WORKGROUP') {
            $script:Member = @{ of = $Of; joins = @(); keys = @(); told = '' }
            Copy-Script 'domainjoin.ps1' @(, @('[Microsoft.Win32.Registry]::LocalMachine', '$Hive'))
            $wanted = @{ domain = 'corp.example.com'; organizationalUnit = 'OU=N\, x,DC=a'; username = 'CORP\joiner'; password = $Secret }
            [IO.File]::WriteAllText("$Folder/domain-join.json", (ConvertTo-Json $wanted))
            Reset-Point
        }
        function Invoke-Join { Invoke-Script 'domainjoin.ps1' }
        function Restart-Member { $Member.keys = @() }
    }

    It 'joins once, and is a member after a restart' {
        Reset-Member
        foreach ($time in 1..2) { (Invoke-Join).code | Should -Be 3010 }
        Restart-Member
        (Invoke-Join).code | Should -Be 0
        $Member.joins -join ';' | Should -BeExactly "corp.example.com CORP\joiner $Secret [OU=N\, x,DC=a] True"
    }
    It 'gives no command the password, which a policy would log' {
        Reset-Member
        (Invoke-Join).code | Should -Be 3010
        $Member.told | Should -Not -Match 'w0rd'
    }
    It 'wants no restart of a member that it did not join' {
        Reset-Member 'Corp.Example.com'
        (Invoke-Join).code | Should -Be 0
        "$($Member.joins)" | Should -Be ''
    }
    It 'joins a member of another domain' { Reset-Member 'other.example.com'; (Invoke-Join).code | Should -Be 3010 }
    It 'comes to the same end after every half' {
        Reset-Member
        $null = Invoke-Join
        $commands = $Point.count
        foreach ($how in 'before', 'after', 'refused') {
            foreach ($at in 1..$commands) {
                Reset-Member
                Reset-Point $at $how
                (Invoke-Join).code | Should -Be 1 -Because "$how $at"
                Reset-Point
                (Invoke-Join).code | Should -Be 3010 -Because "$how $at"
                $Member.joins.Count | Should -Be 1 -Because "$how $at"
            }
        }
    }
}

Describe 'gmsaplugin.ps1' {
    BeforeAll {
        class TestNative {
            static [int]$Answer
            static [int] RtlAdjustPrivilege([int]$Privilege, [bool]$On, [bool]$Thread, [ref]$Before) { return [TestNative]::Answer }
        }
        function Add-Type { [TestNative] }
        # A descriptor changes the parts that were set, as RegistrySecurity does.
        function New-Security {
            $made = [pscustomobject]@{ owner = ''; dacl = '' }
            $made | Add-Member -MemberType ScriptMethod -Name SetOwner -Value { param($Sid) $this.owner = $Sid }
            $made | Add-Member -MemberType ScriptMethod -Name SetSecurityDescriptorSddlForm -Value { param($Sddl, $Parts)
                $found = [regex]::Match($Sddl, '^O:([A-Z]+)(D:(.*))?$')
                if (-not $found.Success) { throw 'The SDDL form of a security descriptor object is invalid.' }
                if ("$Parts" -match 'Owner') { $this.owner = $found.Groups[1].Value }
                if ("$Parts" -match 'Access') { $this.dacl = $found.Groups[3].Value }
            }
            $made | Add-Member -MemberType ScriptMethod -Name GetSecurityDescriptorSddlForm -Value {
                param($Parts) "O:$($this.owner)D:$($this.dacl)"
            }
            $made | Add-Member -MemberType ScriptMethod -Name AddAccessRule -Value { param($Rule) $this.dacl += $Rule }
            $made
        }
        function New-Object([string]$TypeName, $ArgumentList) {
            switch ($TypeName) {
                'Security.Principal.SecurityIdentifier' { return 'SY' }
                'Security.AccessControl.RegistrySecurity' { return New-Security }
                'Security.AccessControl.RegistryAccessRule' { return "(A;;$($ArgumentList[1]);;;$($ArgumentList[0]))" }
            }
            Microsoft.PowerShell.Utility\New-Object $TypeName $ArgumentList
        }
        # SYSTEM may read. The privilege to take ownership opens the key for that; its owner may change the access; and who may make
        # keys stands in the access.
        function Test-Right([string]$Right) {
            switch ($Right) {
                'ReadPermissions' { $true }
                'TakeOwnership' { $true }
                'ChangePermissions' { $Classes.owner -eq 'SY' }
                'CreateSubKey' { $Classes.dacl -match '\(A;;CreateSubKey;;;SY\)' }
            }
        }
        function Open-TestKey($Rights) {
            Enter-Point "OpenSubKey $Rights"
            if (-not $Classes.there) { return }
            foreach ($right in $Rights -split ', ') { if (-not (Test-Right $right)) { throw 'Requested registry access is not allowed.' } }
            $key = [pscustomobject]@{ rights = $Rights }
            $key | Add-Member -MemberType ScriptMethod -Name GetAccessControl -Value { param($Parts)
                $now = New-Security
                $now.owner, $now.dacl = $Classes.owner, $Classes.dacl
                $now
            }
            $key | Add-Member -MemberType ScriptMethod -Name SetAccessControl -Value { param($Security)
                Enter-Point "SetAccessControl $($this.rights)"
                if ($Security.dacl) { if ($this.rights -notmatch 'Change') { throw 'denied' }; $Classes.dacl = $Security.dacl }
                if ($Security.owner) { if ($this.rights -notmatch 'Take') { throw 'denied' }; $Classes.owner = $Security.owner }
                Exit-Point
            }
            $key | Add-Member -MemberType ScriptMethod -Name CreateSubKey -Value { param($Name, $Check)
                Enter-Point 'CreateSubKey'
                $Classes.keys += $Name
                Exit-Point
            }
            $key
            Exit-Point
        }
        $script:Hive = [pscustomobject]@{}
        $Hive | Add-Member -MemberType ScriptMethod -Name OpenSubKey -Value { param($Name, $Mode, $Rights)
            if ($Rights) { return Open-TestKey $Rights }
            if ($Classes.keys -contains ($Name -split '\\')[-1]) { 'a key' }
        }
        function Reset-List {
            $script:Classes = @{ there = $true; owner = 'TI'; dacl = 'PAI(A;CI;KA;;;TI)(A;CI;KR;;;SY)'; keys = @() }
            $script:Origin = "$($Classes.owner) $($Classes.dacl)"
            [TestNative]::Answer = 0
            Copy-Script 'gmsaplugin.ps1' @(
                , @('[Microsoft.Win32.Registry]::LocalMachine', '$Hive')
                , @('[Security.AccessControl.RegistryRights]$Rights', '[string]$Rights')
                , @('[Security.AccessControl.AccessControlSections]', '[string]')
            )
            Reset-Point
        }
        function Invoke-Plugin { Invoke-Script 'gmsaplugin.ps1' }
        function Assert-Back($Because) {
            "$($Classes.owner) $($Classes.dacl)" | Should -Be $Origin -Because $Because
            @(Get-ChildItem $Folder -Filter 'gmsa-plugin.*').Count | Should -Be 0 -Because $Because
        }
        $env:CAPWIN_CLASS = '{CCC2A336-D7F3-4818-A213-272B7924213E}'
    }
    AfterAll { $env:CAPWIN_CLASS = $null }

    It 'lists the plug-in, and puts owner and access back, twice' {
        Reset-List
        foreach ($time in 1..2) {
            $done = Invoke-Plugin
            $done.code | Should -Be 0 -Because $done.text
            Assert-Back "run $time"
        }
        $Classes.keys | Should -Be $env:CAPWIN_CLASS
    }
    It 'leaves a list alone that has the plug-in' {
        Reset-List
        $Classes.keys = @($env:CAPWIN_CLASS)
        (Invoke-Plugin).code | Should -Be 0
        @($Point.names | Where-Object { $_ -match 'Set|Create' }).Count | Should -Be 0
        Assert-Back 'listed'
    }
    It 'fails without the list, and without the privilege' {
        Reset-List
        $Classes.there = $false
        (Invoke-Plugin).text | Should -BeLike '*CCG\COMClasses does not exist; the feature Containers makes it'
        Reset-List
        [TestNative]::Answer = -1073741727
        (Invoke-Plugin).text | Should -Be 'privilege 9 is not to be had: -1073741727'
        Assert-Back 'no privilege'
    }
    It 'puts those of before back, whenever it was ended or refused' {
        Reset-List
        $null = Invoke-Plugin
        $commands = $Point.count
        $commands | Should -BeGreaterThan 7
        foreach ($how in 'before', 'after', 'refused') {
            foreach ($at in 1..$commands) {
                Reset-List
                Reset-Point $at $how
                $null = Invoke-Plugin
                $where = "$how $at $($Point.names[$at - 1])"
                Reset-Point
                $done = Invoke-Plugin
                $done.code | Should -Be 0 -Because "$where`: $($done.text)"
                $Classes.keys | Should -Contain $env:CAPWIN_CLASS -Because $where
                Assert-Back $where
            }
        }
    }
}
