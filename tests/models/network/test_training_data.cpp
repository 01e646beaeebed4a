#include "models/network/training_data.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "tests/datasets/images/image_sets.hpp"

namespace assay {
namespace test_training_data {

/// A folder of images with these classes, of one image each.
std::string folder_of(const Folder& folder, const std::string& name,
                      const std::vector<std::string>& classes) {
  for (const std::string& of : classes) {
    std::filesystem::create_directories(folder / (name + "/" + of));
    folder.write(name + "/" + of + "/a.jpg", text_of(test_image(0)));
  }
  return folder / name;
}

TEST(TrainingData, FilesOfMoreClassesAreRefusedByTheirNameAtOnce) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  const std::string images = folder_of(folder, "images", {"cat", "dog", "fox"});
  const std::string told = message_of<InputError>([&] { canonical_data(images, 0, 2); });
  EXPECT_EQ(told, images + " has 3 classes, the network 2. Use --classes 3.");
  EXPECT_TRUE(canonical_data(images, 0, 3).starts_with("folder:n3c3:"));
  EXPECT_TRUE(canonical_data(images, 0, 4).starts_with("folder:n3c3:"));
}

TEST(TrainingData, FilesOfValidationAreRefusedAsThoseOfTraining) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  TrainingData from;
  from.data = "generated:n8c2w20h20files1";
  from.validation = "generated:n8c3w20h20files1";
  from.classes = 2;
  EXPECT_NE(message_of<InputError>([&] { expect_validation(from); }).find("has 3 classes"),
            std::string::npos);
  from.classes = 3;
  expect_validation(from);
}

/// Else a label means "dog" in training and "fox" in validation, and the accuracy nothing.
TEST(TrainingData, SubfoldersOfValidationAreThoseOfTraining) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  const std::string training = folder_of(folder, "training", {"cat", "dog", "fox"}),
                    others = folder_of(folder, "others", {"cat", "fox"}),
                    more = folder_of(folder, "more", {"cat", "dog", "fox", "owl"}),
                    fewer = folder_of(folder, "fewer", {"cat", "dog"});
  EXPECT_EQ(message_of<InputError>([&] { expect_same_classes(training, others, 0, 9); }),
            "--validation " + others + ": its class 1 is fox, but that of " + training +
                " is dog. Give both the same subfolders.");
  EXPECT_NE(message_of<InputError>([&] {
              expect_same_classes(training, more, 0, 9);
            }).find("its class 3 is owl, but that of " + training + " is missing"),
            std::string::npos);
  expect_same_classes(training, fewer, 0, 9);  // these have their labels
  expect_same_classes(training, training, 0, 9);
  expect_same_classes(training, write_test_set(folder, 10), 0, 9);  // its classes are numbers
}

}  // namespace test_training_data
}  // namespace assay
