package bridges

// noBlock is zero: Windows has no pipes in directories.
const noBlock = 0
