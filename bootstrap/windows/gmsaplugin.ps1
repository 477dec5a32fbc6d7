# Lists a plug-in of Container Credential Guard, by the class ID in its environment. The list belongs to TrustedInstaller, and SYSTEM
# may only read it: SYSTEM takes the key, adds the class, and puts owner and access back. They stand in a file until they are back, so
# that a later run, too, knows those of before.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
$list, $before = 'SYSTEM\CurrentControlSet\Control\CCG\COMClasses', [byte]0
$call = '[DllImport("ntdll.dll")] public static extern int RtlAdjustPrivilege(int privilege, bool on, bool thread, out byte before);'
$native = Add-Type -MemberDefinition $call -Name Native -Namespace Privileges -PassThru
foreach ($privilege in 9, 18) { # take ownership, and give it to others
    $status = $native::RtlAdjustPrivilege($privilege, $true, $false, [ref]$before)
    if ($status -ne 0) { throw "privilege $privilege is not to be had: $status" }
}
function Open-List([Security.AccessControl.RegistryRights]$Rights) {
    $key = [Microsoft.Win32.Registry]::LocalMachine.OpenSubKey($list, 'ReadWriteSubTree', $Rights)
    if ($key) { $key } else { throw "HKLM\$list does not exist; the feature Containers makes it" }
}
function Set-List([string]$Sddl, [Security.AccessControl.AccessControlSections]$Part, [string]$Rights, $Rule) {
    $security = New-Object Security.AccessControl.RegistrySecurity
    $security.SetSecurityDescriptorSddlForm($Sddl, $Part)
    if ($Rule) { $security.AddAccessRule($Rule) }
    (Open-List $Rights).SetAccessControl($security)
}
$file, $both = (Join-Path $PSScriptRoot 'gmsa-plugin.sddl'), [Security.AccessControl.AccessControlSections]'Owner, Access'
if (-not [IO.File]::Exists($file)) {
    if ([Microsoft.Win32.Registry]::LocalMachine.OpenSubKey("$list\$env:CAPWIN_CLASS")) { exit 0 } # listed
    $old = (Open-List 'ReadPermissions').GetAccessControl($both).GetSecurityDescriptorSddlForm($both)
    $text = New-Object IO.StreamWriter([IO.File]::Create("$file.new", 4096, 'WriteThrough'))
    $text.Write($old); $text.Dispose(); [IO.File]::Move("$file.new", $file)
}
$old = [IO.File]::ReadAllText($file)
Set-List 'O:SY' 'Owner' 'TakeOwnership'
try {
    $system = New-Object Security.Principal.SecurityIdentifier 'S-1-5-18'
    Set-List $old 'Access' 'ChangePermissions' (New-Object Security.AccessControl.RegistryAccessRule($system, 'CreateSubKey', 'Allow'))
    # Asked to be read only: the new key inherits that SYSTEM may write nothing in it.
    [void](Open-List 'CreateSubKey').CreateSubKey($env:CAPWIN_CLASS, [Microsoft.Win32.RegistryKeyPermissionCheck]::ReadSubTree)
} finally { Set-List $old $both 'ChangePermissions, TakeOwnership' }
[IO.File]::Delete($file)
