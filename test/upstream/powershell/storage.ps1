# The disks of a machine in $Disks, and the commands of the Storage module that change them. They refuse what Windows refuses
# (Microsoft Learn, "Windows Storage Management API": the return codes of MSFT_Disk, MSFT_Partition and MSFT_Volume).
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
$BasicData = '{ebd0a0a2-b9e5-4433-87c0-68b6b72699c7}'
$Reserved = '{e3c9e316-0b5c-4db8-817d-f92df00215ae}'

function New-TestDisk([int]$Number, [string]$Id, $More = @{}) {
    $disk = @{ number = $Number; id = $Id; style = 'RAW'; parts = @(); offline = $false; readOnly = $false; acts = @() }
    foreach ($key in $More.Keys) { $disk[$key] = $More[$key] }
    $disk
}
function New-TestPart([string]$Type, [string]$System, [string]$Letter = '') { @{ type = $Type; fs = $System; letter = $Letter } }

# Every command is a point at which a run may be ended or refused. After its end nothing of it goes on.
function Enter-Point([string]$Name) {
    if ($Point.ended) { throw 'a run that was ended goes on' }
    $Point.count++
    $Point.names += $Name
    if ($Point.watched -eq $Name -and -not $Point.seen) { $Point.seen = & $Point.watch }
    if ($Point.at -ne $Point.count) { return }
    if ($Point.how -eq 'refused') { throw "$Name was refused" }
    if ($Point.how -eq 'before') { $Point.ended = $true; throw 'ended' }
}
function Exit-Point { if ($Point.at -eq $Point.count -and $Point.how -eq 'after') { $Point.ended = $true; throw 'ended' } }

function Get-TestDisk([int]$Number) {
    foreach ($disk in $Disks) { if ($disk.number -eq $Number) { return $disk } }
    throw "No MSFT_Disk objects found with property 'Number' equal to '$Number'."
}
# What the storage service answers for a disk that is not to be written.
function Assert-Writable($Disk) {
    if ($Disk.offline) { throw 'The disk is offline.' } # 41003
    if ($Disk.readOnly) { throw 'The disk is read only.' } # 41002
}
function Get-TestPart($Partition) {
    $disk = Get-TestDisk $Partition.DiskNumber
    if ($Partition.PartitionNumber -gt @($disk.parts).Count) { throw 'No MSFT_Partition objects found.' }
    $disk
    $disk.parts[$Partition.PartitionNumber - 1]
}
function ConvertTo-Partition($Disk, [int]$At) {
    [pscustomobject]@{ DiskNumber = $Disk.number; PartitionNumber = $At + 1; GptType = $Disk.parts[$At].type }
}

function Get-CimInstance {
    [CmdletBinding()] param($ClassName, $Filter)
    Enter-Point 'Get-CimInstance'
    $letter = $Filter -replace "^DeviceID = '(.):'$", '$1'
    foreach ($disk in $Disks) {
        foreach ($part in $disk.parts) {
            if ($part.letter -ne $letter -or $disk.offline) { continue }
            [pscustomobject]@{ DriveType = 3; FileSystem = $part.fs; FreeSpace = 100GB }
        }
    }
    foreach ($drive in $Drives) { if ($drive.letter -eq $letter) { [pscustomobject]$drive } }
    Exit-Point
}
# Of a disk that is offline Windows may know neither style nor partitions.
function Get-Disk {
    [CmdletBinding()] param($Number)
    Enter-Point 'Get-Disk'
    foreach ($disk in $(if ($null -eq $Number) { $Disks } else { Get-TestDisk $Number })) {
        [pscustomobject]@{
            Number = $disk.number; UniqueId = $disk.id; IsOffline = $disk.offline; IsReadOnly = $disk.readOnly
            PartitionStyle = $(if ($disk.offline) { 'RAW' } else { $disk.style })
            NumberOfPartitions = $(if ($disk.offline) { 0 } else { @($disk.parts).Count })
        }
    }
    Exit-Point
}
function Set-Disk {
    [CmdletBinding()] param([int]$Number, [Parameter(ParameterSetName = 'a')][bool]$IsOffline,
        [Parameter(ParameterSetName = 'b')][bool]$IsReadOnly)
    Enter-Point 'Set-Disk'
    $disk = Get-TestDisk $Number
    if ($PSCmdlet.ParameterSetName -eq 'a') { $disk.offline = $IsOffline; $disk.acts += "offline $IsOffline" }
    else { $disk.readOnly = $IsReadOnly; $disk.acts += "read only $IsReadOnly" }
    Exit-Point
}
function Initialize-Disk {
    [CmdletBinding()] param([int]$Number, $PartitionStyle)
    Enter-Point 'Initialize-Disk'
    $disk = Get-TestDisk $Number
    Assert-Writable $disk
    if ($disk.style -ne 'RAW') { throw 'The disk has already been initialized.' } # 41001
    $disk.style = $PartitionStyle
    $disk.parts = @(New-TestPart $Reserved '')
    $disk.acts += 'initialize'
    Exit-Point
}
# With no partition anywhere it answers nothing; asked for those of a disk that has none it would fail.
function Get-Partition {
    [CmdletBinding()] param()
    Enter-Point 'Get-Partition'
    foreach ($disk in $Disks) {
        if ($disk.offline) { continue }
        for ($at = 0; $at -lt @($disk.parts).Count; $at++) { ConvertTo-Partition $disk $at }
    }
    Exit-Point
}
function New-Partition {
    [CmdletBinding()] param([int]$DiskNumber, [switch]$UseMaximumSize)
    Enter-Point 'New-Partition'
    $disk = Get-TestDisk $DiskNumber
    Assert-Writable $disk
    if ($disk.style -eq 'RAW') { throw 'The disk has not been initialized.' } # 41000
    $used = @($disk.parts | Where-Object { $_.type -ne $Reserved }).Count
    if ($used -and $UseMaximumSize) { throw 'Not enough available capacity' } # 40000
    $disk.parts = @($disk.parts) + @(New-TestPart $BasicData '')
    $disk.acts += 'partition'
    ConvertTo-Partition $disk (@($disk.parts).Count - 1)
    Exit-Point
}
# A volume without a file system is there, and has none.
function Get-Volume {
    [CmdletBinding()] param($Partition)
    Enter-Point 'Get-Volume'
    $disk, $part = Get-TestPart $Partition
    if ($disk.offline -or $part.type -eq $Reserved) { throw 'No MSFT_Volume objects found associated with the partition.' }
    [pscustomobject]@{ FileSystem = $part.fs }
    Exit-Point
}
function Format-Volume {
    [CmdletBinding(SupportsShouldProcess, ConfirmImpact = 'High')] param($Partition, $FileSystem)
    Enter-Point 'Format-Volume'
    if ($PSBoundParameters['Confirm'] -ne $false) { throw 'nobody is there to confirm' }
    $disk, $part = Get-TestPart $Partition
    Assert-Writable $disk
    $part.fs = $FileSystem
    $disk.acts += 'format'
    [pscustomobject]@{ FileSystem = $FileSystem }
    Exit-Point
}
function Set-Partition {
    [CmdletBinding()] param($InputObject, $NewDriveLetter)
    Enter-Point 'Set-Partition'
    $disk, $part = Get-TestPart $InputObject
    $taken = @($Disks.parts | Where-Object { $_.letter -eq $NewDriveLetter }) + @($Drives | Where-Object { $_.letter -eq $NewDriveLetter })
    if ($taken.Count) { throw 'The requested access path is already in use.' } # 42002
    $part.letter = $NewDriveLetter
    $disk.acts += "letter $NewDriveLetter"
    Exit-Point
}
