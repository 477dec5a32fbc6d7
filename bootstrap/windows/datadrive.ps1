# Sees that there is a drive with the letter in the environment: it is there already, or the one empty disk of the machine becomes
# it. No disk with partitions is ever touched. It may run again, and then tells how much is free.
param([string]$Letter = $env:CAPWIN_DRIVE)
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
function Test-Empty($Disk) { $Disk.PartitionStyle -eq 'RAW' -and $Disk.NumberOfPartitions -eq 0 }
$there = @(Get-CimInstance -ClassName Win32_LogicalDisk -Filter "DeviceID = '${Letter}:'")
if ($there.Count) {
    if ($there[0].DriveType -ne 3) { throw "drive ${Letter}: is not a disk, but perhaps a CD-ROM; use another letter" }
    if ($there[0].FileSystem -ne 'NTFS') { throw "drive ${Letter}: has the file system '$($there[0].FileSystem)'; format it with NTFS" }
    "free $([Math]::Floor($there[0].FreeSpace / 1MB)) MiB"; exit 0
}
if ($env:CAPWIN_FORMAT -ne 'IfEmpty') { throw "there is no drive ${Letter}:; use format: IfEmpty and an empty disk" }
$empty = @(Get-Disk | Where-Object { Test-Empty $_ })
if ($empty.Count -ne 1) { throw "$($empty.Count) disks have no partitions, and one must become drive ${Letter}:; attach one" }
$number = $empty[0].Number
# Windows leaves some new disks offline, and of one that is offline it may not know the partitions.
if ($empty[0].IsOffline) { Set-Disk -Number $number -IsOffline $false }
$disk = Get-Disk -Number $number
if (-not (Test-Empty $disk)) { throw "disk $number is not empty; use one without partitions" }
if ($disk.IsReadOnly) { Set-Disk -Number $number -IsReadOnly $false }
Initialize-Disk -Number $number -PartitionStyle GPT
$partition = New-Partition -DiskNumber $number -UseMaximumSize
[void](Format-Volume -Partition $partition -FileSystem NTFS -Confirm:$false)
# The letter comes last, so that what has it is formatted.
Set-Partition -InputObject $partition -NewDriveLetter $Letter
