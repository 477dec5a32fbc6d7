# bootstrap/windows/datadrive.ps1, among disks that refuse what Windows refuses: to the end, ended at every command, refused at every
# command, and again.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

BeforeAll {
    . "$PSScriptRoot/storage.ps1"
    . "$PSScriptRoot/windows.ps1"
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
