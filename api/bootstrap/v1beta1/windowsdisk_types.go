package v1beta1

// PageFile is how large the page file is. A node always has one: without it,
// programs fail once all memory is committed.
//
// +kubebuilder:validation:XValidation:rule="(has(self.policy) && self.policy == 'Fixed') == has(self.sizeMiB)",message="sizeMiB is required with policy Fixed and not allowed with any other; set both, or remove sizeMiB",fieldPath=".sizeMiB"
type PageFile struct {
	// policy: Image keeps the image's page file, Managed lets Windows choose the
	// size, Fixed sets it to sizeMiB. A change needs a restart, which happens
	// before the node joins. Default: Image.
	//
	// +optional
	Policy PageFilePolicy `json:"policy,omitempty"`

	// sizeMiB is the size of the page file, such as 16384. Policy Fixed needs it,
	// and no other takes it. The file is on dataDrive, or else on the disk of
	// Windows.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=1048576
	SizeMiB int32 `json:"sizeMiB,omitempty"`
}

// DataDrive is a drive beside that of Windows.
//
// +kubebuilder:validation:XValidation:rule="has(self.letter) || !has(self.format)",message="format needs the letter of the drive; set letter, or remove format",fieldPath=".letter"
type DataDrive struct {
	// letter of the drive, D to Z, such as D. On Azure, D: is the temporary disk
	// of sizes that have one; on vSphere, often the CD-ROM drive, which is refused
	// on the node.
	//
	// +optional
	Letter DriveLetter `json:"letter,omitempty"`

	// format is what happens if the drive does not exist: Never fails, IfEmpty makes
	// it of the machine's only disk without partitions, with NTFS. A disk with
	// partitions is never touched. Default: Never.
	//
	// +optional
	Format DataDriveFormat `json:"format,omitempty"`
}

// DriveLetter is the letter of a drive other than C:.
//
// +kubebuilder:validation:Enum=D;E;F;G;H;I;J;K;L;M;N;O;P;Q;R;S;T;U;V;W;X;Y;Z
type DriveLetter string

// DataDriveFormat is whether a drive may be made.
//
// +kubebuilder:validation:Enum=Never;IfEmpty
type DataDriveFormat string

// What happens if there is no such drive.
const (
	DataDriveNever   DataDriveFormat = "Never"
	DataDriveIfEmpty DataDriveFormat = "IfEmpty"
)

// PageFilePolicy is what decides the size of the page file.
//
// +kubebuilder:validation:Enum=Managed;Fixed;Image
type PageFilePolicy string

// The policies of a page file.
const (
	PageFileManaged PageFilePolicy = "Managed"
	PageFileFixed   PageFilePolicy = "Fixed"
	PageFileImage   PageFilePolicy = "Image"
)
