# The scripts that a plan writes to the node: those of bootstrap/windows that work on no disk. Each runs as it is, but for the types
# that only Windows has, among stand-ins for its commands: to the end, ended at every command, refused at every command, and again.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

BeforeAll {
    . "$PSScriptRoot/storage.ps1"
    . "$PSScriptRoot/windows.ps1"
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
