#pragma once
// The files that a path to TFRecords names.

#include <string>
#include <vector>

namespace assay {

/// The files of a folder named *.tfrecord*, the file of this name, else the files whose names match
/// a pattern, else those whose names begin so: in the order of names (of bytes), without folders.
/// The name of a file or folder that exists is never a pattern. InputError for a folder that cannot
/// be read. InputError also for a missing shard: of files named -00000-of-00004, all that the path
/// names must be there.
std::vector<std::string> tfrecord_files(const std::string& path);

}  // namespace assay
