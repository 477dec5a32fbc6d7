# A disk as Windows has it, for the calls that the scripts make on files: what is read only cannot be removed or replaced, and what
# another program holds can be neither removed, moved, replaced nor opened. Linux allows all of that. The scripts are loaded with
# [IO.File] read as [WindowsFile].
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

class WindowsFile {
    # path -> how often it is found held
    static [hashtable] $Held = @{}
    static [Collections.ArrayList] $Calls = @()

    static [void] Touch([string]$Call, [string]$Path) {
        [WindowsFile]::Calls.Add("$Call $([IO.Path]::GetFileName($Path))")
        if ([int][WindowsFile]::Held[$Path] -le 0) { return }
        [WindowsFile]::Held[$Path]--
        throw [IO.IOException]::new("The process cannot access the file '$Path' because it is being used by another process.")
    }
    static [void] Refuse([string]$Path) {
        if (-not [IO.File]::Exists($Path)) { return }
        if ([IO.File]::GetAttributes($Path) -band [IO.FileAttributes]::ReadOnly) {
            throw [UnauthorizedAccessException]::new("Access to the path '$Path' is denied.")
        }
    }
    static [bool] Exists([string]$Path) { return [IO.File]::Exists($Path) }
    static [byte[]] ReadAllBytes([string]$Path) { [WindowsFile]::Touch('read', $Path); return [IO.File]::ReadAllBytes($Path) }
    static [IO.FileAttributes] GetAttributes([string]$Path) { return [IO.File]::GetAttributes($Path) }
    static [void] SetAttributes([string]$Path, [IO.FileAttributes]$To) { [IO.File]::SetAttributes($Path, $To) }
    static [void] AppendAllText([string]$Path, [string]$Text) { [IO.File]::AppendAllText($Path, $Text) }
    static [IO.FileStream] Create([string]$Path) { [WindowsFile]::Touch('create', $Path); return [IO.File]::Create($Path) }
    static [IO.FileStream] Open([string]$Path, [string]$Mode, [string]$Access, [string]$Share) {
        [WindowsFile]::Touch('open', $Path)
        return [IO.File]::Open($Path, $Mode, $Access, $Share)
    }
    static [void] Delete([string]$Path) {
        [WindowsFile]::Touch('delete', $Path)
        [WindowsFile]::Refuse($Path)
        [IO.File]::Delete($Path)
    }
    static [void] Move([string]$From, [string]$To) {
        [WindowsFile]::Touch('move', $From)
        if ([IO.File]::Exists($To)) { throw [IO.IOException]::new('Cannot create a file when that file already exists.') }
        [IO.File]::Move($From, $To)
    }
    static [void] Replace([string]$From, [string]$To, [string]$Backup) {
        [WindowsFile]::Touch('replace', $To)
        if (-not [IO.File]::Exists($To)) { throw [IO.FileNotFoundException]::new('The system cannot find the file specified.') }
        [WindowsFile]::Refuse($To)
        [IO.File]::Replace($From, $To, [NullString]::Value)
    }
}

# The text of the scripts for that disk, whose programs of Windows are in a folder.
function Get-DiskText([string]$Text, [string]$Programs) {
    $Text.Replace('[IO.File]::', '[WindowsFile]::').Replace('[Environment]::SystemDirectory', "'$Programs'")
}
