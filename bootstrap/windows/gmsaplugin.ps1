# Lists a plug-in of Container Credential Guard, by the class ID in its environment. The list belongs to TrustedInstaller, and SYSTEM
# may only read it: SYSTEM takes the key, adds the class, and puts owner and access back. It may run again.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
$list = 'SYSTEM\CurrentControlSet\Control\CCG\COMClasses'
$call = '[DllImport("ntdll.dll")] public static extern int RtlAdjustPrivilege(int privilege, bool on, bool thread, out bool before);'
$native = Add-Type -MemberDefinition $call -Name Native -Namespace Privileges -PassThru
$before = $false
foreach ($privilege in 9, 18) { # take ownership, and give it to others
    $status = $native::RtlAdjustPrivilege($privilege, $true, $false, [ref]$before)
    if ($status -ne 0) { throw "privilege $privilege is not to be had: $status" }
}
function Open-List([Security.AccessControl.RegistryRights]$Rights) {
    $key = [Microsoft.Win32.Registry]::LocalMachine.OpenSubKey($list, 'ReadWriteSubTree', $Rights)
    if (-not $key) { throw "HKLM\$list does not exist; the feature Containers makes it" }
    $key
}
$parts = [Security.AccessControl.AccessControlSections]'Owner, Access'
$old = (Open-List 'ReadPermissions').GetAccessControl($parts).GetSecurityDescriptorSddlForm($parts)
$system = New-Object Security.Principal.SecurityIdentifier 'S-1-5-18'
$mine = New-Object Security.AccessControl.RegistrySecurity
$mine.SetOwner($system)
(Open-List 'TakeOwnership').SetAccessControl($mine)
try {
    $open = New-Object Security.AccessControl.RegistrySecurity
    $open.SetSecurityDescriptorSddlForm($old, 'Access')
    $open.AddAccessRule((New-Object Security.AccessControl.RegistryAccessRule($system, 'CreateSubKey', 'Allow')))
    (Open-List 'ChangePermissions').SetAccessControl($open)
    # Asked to be read only: the new key inherits that SYSTEM may write nothing in it.
    $read = [Microsoft.Win32.RegistryKeyPermissionCheck]::ReadSubTree
    [void](Open-List 'CreateSubKey').CreateSubKey($env:CAPWIN_CLASS, $read)
} finally {
    $back = New-Object Security.AccessControl.RegistrySecurity
    $back.SetSecurityDescriptorSddlForm($old, $parts)
    (Open-List 'ChangePermissions, TakeOwnership').SetAccessControl($back)
}
